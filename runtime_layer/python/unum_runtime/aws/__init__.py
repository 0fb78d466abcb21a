"""The adapters to AWS that are no store."""

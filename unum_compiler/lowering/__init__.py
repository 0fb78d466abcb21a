"""Lower the typed tree to the IR."""

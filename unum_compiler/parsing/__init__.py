"""Parse a definition into a typed tree; report every problem with its JSON path."""

"""Check a parsed definition as a whole."""

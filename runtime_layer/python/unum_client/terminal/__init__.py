"""Text for terminals: amounts, columns, live tables."""

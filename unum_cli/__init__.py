"""The command `unum`."""

"""What the command ``unum`` does, a module for each kind of command."""

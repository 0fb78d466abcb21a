"""Commands of ``unum``, one module for each kind."""

"""Plan what follows a committed outcome: pure functions, no effects."""

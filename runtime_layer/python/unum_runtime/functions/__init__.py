"""Entry points of Lambda functions, one module for each kind of function."""

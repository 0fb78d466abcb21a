"""Host workflow nodes in Lambda functions."""

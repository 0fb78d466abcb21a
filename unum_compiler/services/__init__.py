"""Service Tasks: actions, parameters, ARNs and IAM permissions."""

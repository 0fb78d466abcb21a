"""Service Tasks: operations, parameters, ARNs, IAM permissions."""

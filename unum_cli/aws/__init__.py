"""AWS clients of the command, which load botocore only for what needs it."""

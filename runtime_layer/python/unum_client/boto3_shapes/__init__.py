"""Results and errors in the shapes of boto3's `stepfunctions` client."""

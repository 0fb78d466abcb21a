"""What stands in for Lambda, invoked functions and services in a process without AWS."""

"""What stands in for Lambda, called functions and services in a process without AWS."""

"""Base of stores whose service writes a whole document on a condition, for workflows with their state in a bucket."""

"""A page on localhost that shows executions, and changes them if it may."""

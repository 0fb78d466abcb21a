"""Groups of a workflow's options, as users write them, with their checks."""

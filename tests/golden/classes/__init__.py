"""Generated variants: each field that takes a path or expression, with each kind of it, over each kind of value."""

"""``unum versions``: published versions of a workflow's functions, and what needs them."""

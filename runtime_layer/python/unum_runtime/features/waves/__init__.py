"""Branches that wait for results of the branch before, for Tasks with `after_previous`; their deliveries load it."""

"""Branches that wait for some of the others, for graphs with `g.dag`; deliveries that end such a branch load it."""

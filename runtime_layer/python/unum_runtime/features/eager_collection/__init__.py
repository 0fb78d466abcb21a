"""Deletion of outcomes that no step can need any more, for workflows with `Collection.EAGER`; deliveries load it."""

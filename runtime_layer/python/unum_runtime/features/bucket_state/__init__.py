"""State in a bucket in place of a table, for workflows with `Store.s3()`; each delivery loads it."""

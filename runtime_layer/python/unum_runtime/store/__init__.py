"""Shared state of an execution: store contract and backends."""

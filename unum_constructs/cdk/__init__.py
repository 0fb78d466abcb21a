"""Helpers for CDK constructs."""

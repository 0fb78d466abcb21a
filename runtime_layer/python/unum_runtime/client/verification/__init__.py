"""Verification of one execution's history against its definition and against what no function may change."""

"""Optional features: one folder each, which only layers of workflows that use it contain.

Nothing outside imports a feature at top level, so who does not use one loads nothing of it.
"""

"""Sources of definitions: files, CDK state machines, Python graphs, and compiled forms.

All except the IR are converted to the Amazon States Language, so that one compiler checks and lowers them.
"""

"""Sources of definitions: files, CDK state machines, Python graphs, and hand-written IR.

All except the IR are converted to the Amazon States Language, so that one compiler checks and lowers them.
"""

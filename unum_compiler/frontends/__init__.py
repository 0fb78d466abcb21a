"""The ways that definitions come in: files, CDK state machines, Python graphs, and the IR written by hand.

All but the last end in the Amazon States Language, so that one compiler checks and lowers them all.
"""

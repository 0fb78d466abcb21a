"""Rows of an execution's steps, how their time divides, and which executions started which; page and traces show it."""

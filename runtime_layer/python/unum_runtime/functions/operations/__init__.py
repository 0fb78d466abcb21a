"""Failure handler and control function: what no Task's delivery loads before a deployment took an edge."""

"""Calls of one Task: what programs see; searches of calls under faults are in the simulation."""

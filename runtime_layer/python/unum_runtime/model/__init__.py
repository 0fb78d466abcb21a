"""Frozen, versioned data: the intermediate representation, names, checkpoints and envelopes."""

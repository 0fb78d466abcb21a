"""Branches of a fan-out: completion sets, packs, lanes, neighbour joins."""

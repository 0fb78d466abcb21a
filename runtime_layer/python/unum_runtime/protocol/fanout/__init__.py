"""Track the branches of a fan-out: packs, lanes, neighbours."""

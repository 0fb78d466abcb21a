"""Verification of stored histories: find forged, erased and expired commits."""

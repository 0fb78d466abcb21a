"""Checks of JSONata expressions in definitions, which functions do not need."""

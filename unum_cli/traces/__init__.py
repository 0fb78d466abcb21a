"""Traces of executions in the format of OpenTelemetry, built from what is committed."""

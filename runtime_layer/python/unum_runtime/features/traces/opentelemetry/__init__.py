"""Spans of OpenTelemetry, and their encoding for a collector."""

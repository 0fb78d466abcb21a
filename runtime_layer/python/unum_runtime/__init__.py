"""Runtime of workflows that orchestrate themselves, for Lambda functions, clients and tests."""

from unum_runtime.cold_start.bundle import find_beside

find_beside(__path__[0])

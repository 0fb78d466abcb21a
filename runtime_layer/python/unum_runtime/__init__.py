"""The runtime of workflows that orchestrate themselves: inside every Lambda, and on its own for clients and tests."""

from unum_runtime.cold_start.bundle import find_beside

find_beside(__path__[0])

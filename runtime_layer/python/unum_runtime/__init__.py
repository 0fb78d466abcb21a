"""The runtime of workflows that orchestrate themselves: inside every Lambda, and on its own for clients and tests."""

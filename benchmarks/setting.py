"""Environment of the measurements: the machine, and the pages' folder."""

import os
import platform
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "performance"
"""Folder of pages and charts."""


def machine() -> str:
    """Return a description of this machine and its load."""
    processors = f"{os.cpu_count()} processors ({platform.machine()}) with a load of {os.getloadavg()[0]:.1f}"
    return f"{processors}, {platform.system()}, Python {platform.python_version()}"

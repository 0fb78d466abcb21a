"""Where figures are measured, and where they are written."""

import os
import platform
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "performance"
"""The folder of pages and charts."""


def machine() -> str:
    """What this runs on, and how much else does."""
    processors = f"{os.cpu_count()} processors ({platform.machine()}) with a load of {os.getloadavg()[0]:.1f}"
    return f"{processors}, {platform.system()}, Python {platform.python_version()}"

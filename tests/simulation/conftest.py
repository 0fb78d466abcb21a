"""Makes the modules beside the tests importable, which importlib mode alone does not."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

"""Source files of the product, by distribution, for checks of their structure and language."""

from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / "runtime_layer" / "python"

DISTRIBUTIONS: Mapping[str, Path] = {
    "unum_azure": PYTHON / "unum_azure",
    "unum_cli": ROOT / "unum_cli",
    "unum_client": PYTHON / "unum_client",
    "unum_compiler": ROOT / "unum_compiler",
    "unum_constructs": ROOT / "unum_constructs",
    "unum_google": PYTHON / "unum_google",
    "unum_runtime": PYTHON / "unum_runtime",
    "unum_simulator": PYTHON / "unum_simulator",
    "unum_emulator": ROOT / "emulator" / "src" / "unum_emulator",
}


def modules(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*.py")) if "__pycache__" not in path.parts)

"""README's tutorial: the files that it shows, and its commands."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"
_BLOCK = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)


def write_files(folder: Path) -> None:
    """Make the files in `folder`."""
    for title, text in _blocks():
        if title != "commands":
            file = folder / title
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")


def commands() -> str:
    """Return the shell commands of a page, in order."""
    return "".join(text for title, text in _blocks() if title == "commands")


def _blocks() -> list[tuple[str, str]]:
    return _BLOCK.findall(README.read_text(encoding="utf-8"))

"""A real browser, from the packages of npm that ``package.json`` names."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

DRIVER = Path(__file__).with_name("drive.mjs")
PICTURES = DRIVER.parents[2] / "out" / "ui"
# The only fonts are those that the browser's package unpacks beside it: pictures are the same whatever is installed.
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/fonts</dir><cachedir>{folder}/cache</cachedir></fontconfig>
"""


@dataclass(frozen=True)
class Browser:
    """Drives the browser; a call is one of playwright's, of the page or of what a selector finds."""

    process: "subprocess.Popen[str]"

    def do(self, call: str, *args: Any, on: str | None = None) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"call": call, "args": args} | ({"on": on} if on else {})) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "the browser has ended"}')
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def tree(self, selector: str = "main") -> str:
        """The accessible tree, which is what a screen reader tells of a page."""
        return str(self.do("ariaSnapshot", on=selector))

    def picture(self, name: str) -> Path:
        """Leave a picture of the page for people, and return its path."""
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"{name}.png"
        self.do("screenshot", {"path": str(path), "fullPage": True, "animations": "disabled", "caret": "hide"})
        return path


@contextmanager
def start_browser(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run a driver with a browser, which is unpacked into the folder; end both after the block."""
    # The package unpacks the browser into the temporary folder, and runs what it finds there: that must be its own.
    fonts = folder / "only-these.conf"
    fonts.write_text(FONTS.format(folder=folder), encoding="utf-8")
    environment = os.environ | {"TMPDIR": str(folder), "TZ": "UTC", "FONTCONFIG_FILE": str(fonts)}
    command = ["node", str(DRIVER)]
    with subprocess.Popen(  # noqa: S603 - the command is written above
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=DRIVER.parents[2], text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.wait(20)


@pytest.fixture(scope="session")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator["subprocess.Popen[str]"]:
    with start_browser(tmp_path_factory.mktemp("chromium")) as process:
        yield process


@pytest.fixture
def browser(process: "subprocess.Popen[str]") -> Browser:
    """The browser with a new profile."""
    found = Browser(process)
    found.do("open", {"reducedMotion": "reduce"})
    return found

"""The page of `unum ui`: a picture of it, or the page itself while a person looks at it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SHOOTER = Path(__file__).with_name("picture.mjs")
TAKES_S = 60


class PageError(Exception):
    """The page did not begin, or no browser could show it."""


@contextmanager
def page(stack: str) -> Iterator[str]:
    """Serve the page of the workflows of `stack` within the block, and yield its URL.

    Raises:
        PageError: the page did not begin.
    """
    command = [sys.executable, "-c", "from unum_cli.main import main; main()", "ui", "--stack", stack]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:  # noqa: S603
        try:
            announced = process.stdout.readline() if process.stdout else ""
            if not announced:
                raise PageError("it did not begin")
            yield announced.strip()
        finally:
            process.terminate()


def take_picture(url: str, path: str, picture: Path) -> None:
    """Write a picture of the page at `path`.

    Args:
        url: URL that enters the page.
        path: path of the view.
        picture: file of the picture, which is replaced.

    Raises:
        PageError: no browser could be started, or it did not show the page; the text says what is missing.
    """
    picture.parent.mkdir(parents=True, exist_ok=True)
    # The browser's package unpacks it into the temporary folder, and would run what it finds there.
    with tempfile.TemporaryDirectory(prefix="unum-chromium-") as own:
        command = ["node", str(SHOOTER), url, path, str(picture)]
        try:
            made = subprocess.run(  # noqa: S603 - the command is written above
                command, env=os.environ | {"TMPDIR": own}, capture_output=True, text=True, timeout=TAKES_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PageError(str(error)) from error
    if made.returncode != 0:
        problem = (line for line in made.stderr.splitlines() if "rror" in line)
        raise PageError(next(problem, f"node ended with {made.returncode}").strip())

"""Session of ``unum dev``, in an environment where AWS is the emulator.

`python -m unum_cli.project.session` deploys the app of the current folder, serves the page, prints the functions' log
lines, and deploys again when a file changes; with arguments, it deploys, runs them as a command, and returns its code.
"""

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

LOGS = "UNUM_EMULATOR_LOGS"
"""Environment variable with the folder of the emulator's logs."""

SETTINGS = Path(".unum-dev.env")
"""File with the environment, for other terminals; it exists as long as the session."""

_UNWATCHED = {"node_modules", "cdk.out", "__pycache__", "out"}
_DEPLOY = ("--all", "--require-approval", "never", "--method", "direct", "--progress", "events", "--no-notices", "--ci")
_PAUSE_S = 0.5

Times = Mapping[Path, int]
"""Time of the last change of each file, in nanoseconds."""


def main(command: Sequence[str]) -> int:
    """Deploy, then run `command`, or watch until Ctrl-C; return the exit code."""
    is_deployed = deploy()
    if command:
        return subprocess.run(command, check=False).returncode if is_deployed else 1  # noqa: S603 - the user's
    with _page(), _settings():
        watch(Path.cwd(), Path(os.environ[LOGS]))
    return 0


def watch(project: Path, logs: Path) -> None:
    """Print new log lines, and deploy after changes, until Ctrl-C."""
    seen, lines = times(project), LogLines(logs)
    try:
        while True:
            time.sleep(_PAUSE_S)
            for line in lines.new():
                print(line, flush=True)
            found = times(project)
            if found != seen:
                changed = sorted(str(path) for path, _ in found.items() ^ seen.items())
                _say(f"Changed: {', '.join(dict.fromkeys(changed))}")
                seen = found
                deploy()
    except KeyboardInterrupt:
        _say("The emulator ends, and all in it.")


def deploy() -> bool:
    """Deploy all stacks; return False if that failed, with the CDK's own words above."""
    _say("Deploying ...")
    cdk = Path("node_modules", ".bin", "cdk")
    command = [str(cdk)] if cdk.exists() else ["npx", "--yes", "cdk"]
    is_done = subprocess.run([*command, "deploy", *_DEPLOY], check=False).returncode == 0  # noqa: S603 - the CDK's
    _say("Deployed." if is_done else "Not deployed; change a file to try again.")
    return is_done


def times(project: Path) -> Times:
    """Return the files of `project` that a deployment may read, without hidden ones and what tools make."""
    found = {}
    for folder, folders, names in os.walk(project):
        folders[:] = [each for each in folders if each not in _UNWATCHED and not each.startswith(".")]
        for path in (Path(folder, name) for name in names if not name.startswith(".")):
            try:
                found[path.relative_to(project)] = path.stat().st_mtime_ns
            except FileNotFoundError:  # an editor replaces it right now
                continue
    return found


class LogLines:
    """Log lines of functions that nobody has read.

    Args:
        folder: folder with a file for each function.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}

    def new(self) -> Iterator[str]:
        """Yield new whole lines, with the name of the function."""
        for path in sorted(self._folder.glob("*.log")):
            if path.stem == "emulator":
                continue
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                whole, end, _rest = file.read().rpartition(b"\n")
            self._read[path] = self._read.get(path, 0) + len(whole) + len(end)
            yield from (f"{path.stem}: {line}" for line in whole.decode(errors="replace").splitlines())


@contextmanager
def _page() -> Iterator[None]:
    """Serve the page of all executions within the block; it prints its URL."""
    command = [sys.executable, "-c", "from unum_cli.main import main; main()", "ui", "--allow-changes"]
    # A session of its own: Ctrl-C is for this one, which ends the page.
    with subprocess.Popen(command, start_new_session=True) as page:  # noqa: S603 - ours
        try:
            yield
        finally:
            page.terminate()


@contextmanager
def _settings() -> Iterator[None]:
    """Write the environment for other terminals, within the block."""
    names = [name for name in sorted(os.environ) if name.startswith(("AWS_", "CDK_"))]
    lines = [f"export {name}={shlex.quote(os.environ[name])}\n" for name in names]
    SETTINGS.write_text("".join(lines), encoding="utf-8")
    _say(f"In other terminals, `. ./{SETTINGS}` makes unum, cdk and boto3 use this emulator.")
    try:
        yield
    finally:
        SETTINGS.unlink(missing_ok=True)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

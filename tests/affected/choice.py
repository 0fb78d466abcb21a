"""Choose the tests of a change, the nearest first. Pure: nothing here reads or runs a file."""

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

OTHER_COMMANDS = ("tests/e2e/", "tests/packaging/", "tests/browser/", "emulator/tests/")
"""Folders of tests that deploy, install or open a browser: `make test` runs them."""


def choose(changed: Iterable[str], importers: Mapping[str, frozenset[str]]) -> list[str]:
    """Return the test files that a change may break, nearest first.

    Near are the tests that changed themselves, then those with the name of a changed module, then those in the folder
    that mirrors the module's, then by how many imports lie between.

    Args:
        changed: paths from the root of the repository; what is no Python file is left out.
        importers: for each Python file the files that import it.
    """
    ranks: dict[str, tuple[int, str]] = {}
    for file in changed:
        for test, distance in _distances(file, importers).items():
            if _is_test(test):
                ranks[test] = min((_rank(file, test, distance), test), ranks.get(test, (99, test)))
    return [test for _, test in sorted(ranks.values())]


def _distances(file: str, importers: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """Return the files that import `file`, directly or through others, with the number of imports between."""
    found = {file: 0}
    last = [file]
    while last:
        following = {each for one in last for each in importers.get(one, ()) if each not in found}
        found.update(dict.fromkeys(following, found[last[0]] + 1))
        last = sorted(following)
    return found


def _rank(file: str, test: str, distance: int) -> int:
    module, tested = PurePosixPath(file), PurePosixPath(test)
    if distance == 0:
        return 0
    if tested.stem.startswith(f"test_{module.stem}"):
        return 1
    if tested.parts[1:2] == ("unit",) and module.parts[-len(tested.parts[2:-1]) - 1 : -1] == tested.parts[2:-1]:
        return 2
    return 2 + distance


def _is_test(file: str) -> bool:
    return PurePosixPath(file).name.startswith("test_") and not file.startswith(OTHER_COMMANDS)

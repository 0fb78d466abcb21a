"""Files that the browser loads: the page's own, and the library that lays graphs out."""

from pathlib import Path

from starlette.exceptions import HTTPException

from unum_cli.ui.site import FOLDER

_FOLDERS = (FOLDER / "static", FOLDER / "static" / "vendor")
"""`make setup` copies the libraries into the second folder, and wheels have it."""

_SUFFIXES = frozenset((".css", ".js", ".svg"))


def asset(name: str) -> Path:
    """Return the file `name`.

    Raises:
        HTTPException: there is no such file.
    """
    # Names are looked up, never joined to a path, so no name leads out of the folders.
    known = {path.name: path for folder in _FOLDERS for path in folder.glob("*.*") if path.suffix in _SUFFIXES}
    if name not in known:
        raise HTTPException(404, f"There is no file {name!r}; in a checkout, `make setup` copies libraries.")
    return known[name]

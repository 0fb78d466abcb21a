"""Keeps what this tree deploys, for tests of later ones: ``python -m tests.e2e.upgrade.keep``, once for each release.

A template needs its assets. The functions' code is in it; what is left is the layer, whose sources are kept as they are
in that release, without the bytecode that they can do without.
"""

import json
import os
import runpy
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path

RELEASES = Path(__file__).parent / "releases"
FIRST = {"definition": "1", "code": "1"}


def keep(folder: Path) -> None:
    """Put template and layer into `folder`."""
    with tempfile.TemporaryDirectory() as out:
        os.environ |= {"CDK_OUTDIR": out, "CDK_CONTEXT_JSON": json.dumps(FIRST)}
        runpy.run_module("tests.e2e.upgrade.app", run_name="__main__")
        (template,) = Path(out).glob("*.template.json")
        (layer,) = Path(out).glob("unum-*.zip")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "template.json").write_bytes(template.read_bytes())
        _copy(layer, folder / "layer.zip")


def _copy(source: Path, target: Path) -> None:
    """Copy an archive without bytecode."""
    with zipfile.ZipFile(source) as layer, zipfile.ZipFile(target, "w") as archive:
        for entry in layer.infolist():
            if not entry.filename.endswith(".pyc"):
                archive.writestr(entry, layer.read(entry), zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    keep(RELEASES / version("unum-constructs"))

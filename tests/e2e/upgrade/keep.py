"""Keeps what this tree deploys, for tests of later ones: ``python -m tests.e2e.upgrade.keep``, once for each release.

A template needs its assets: the layer, and the code of the functions that the workflow makes. They are kept with
sources, as functions of every Python can run them. The requests of that release's client are kept, too.
"""

import json
import os
import runpy
import shutil
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from unum_runtime.model.envelope import start_event
from unum_runtime.model.requests import INPUT, run_request

RELEASES = Path(__file__).parent / "releases"
FIRST = {"definition": "1", "code": "1"}


def keep(folder: Path) -> None:
    """Put template, assets and requests into `folder`."""
    with tempfile.TemporaryDirectory() as out:
        os.environ |= {"CDK_OUTDIR": out, "CDK_CONTEXT_JSON": json.dumps(FIRST)}
        _leave_out_bytecode()
        runpy.run_module("tests.e2e.upgrade.app", run_name="__main__")
        (template,) = Path(out).glob("*.template.json")
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(template, folder / "template.json")
        for asset in Path(out).glob("asset.*.zip"):
            shutil.copyfile(asset, folder / asset.name)
    requests = {
        "started": run_request("started", {INPUT: {"name": "started", "trail": []}}),
        "submitted": start_event("submitted", {"name": "submitted", "trail": []}),
    }
    (folder / "requests.json").write_text(json.dumps(requests, indent=2) + "\n", encoding="utf-8")


def _leave_out_bytecode() -> None:
    # The CDK's process starts with this import, and reads its environment then.
    from unum_constructs.layer import interpreters, runtime_archive  # noqa: PLC0415
    from unum_constructs.layer.archive_cache import CACHE  # noqa: PLC0415

    def refuse(*_: object) -> NoReturn:
        raise interpreters.NoBytecodeError("assets are kept with sources")

    os.environ[CACHE] = ""  # archives in the cache may have bytecode
    runtime_archive.compile_modules = refuse  # type: ignore[attr-defined,assignment]


if __name__ == "__main__":
    keep(RELEASES / version("unum-constructs"))

"""Files in the cloud assembly, under names with their digests."""

from pathlib import Path
from shutil import rmtree

from aws_cdk import Stage
from constructs import Construct

from unum_constructs.layer.content import Content


def write_archive(scope: Construct, archive: bytes, named: str) -> Path:
    """Write `archive` into the cloud assembly of `scope`; return its path.

    Two hundred files would be written twice, because the CDK copies each, and archived at deployment.
    """
    file = _assembly(scope) / f"unum-{named}.zip"
    file.write_bytes(archive)
    return file


def write_files(scope: Construct, content: Content, named: str) -> Path:
    """Write `content` to a folder of the cloud assembly of `scope`; return the folder."""
    folder = _assembly(scope) / f"unum-{named}"
    rmtree(folder, ignore_errors=True)  # whatever lies there
    for path, data in content.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder


def _assembly(scope: Construct) -> Path:
    stage = Stage.of(scope)
    assert stage is not None  # noqa: S101 - every stack is in an app, which is a stage
    return Path(stage.asset_outdir)

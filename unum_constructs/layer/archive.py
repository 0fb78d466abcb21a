"""ZIP archives of layers, which are the same bytes for the same files."""

import io
import zipfile

from unum_constructs.layer.content import Content

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""Time of all files; ZIP has none before."""

_READABLE = 0o644 << 16
"""Permissions of all files: Lambda's user must be able to read them."""


def archive(content: Content) -> bytes:
    """Return a ZIP archive of `content`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as zipped:
        for path, data in sorted(content.items()):
            entry = zipfile.ZipInfo(path, _EPOCH)
            entry.external_attr = _READABLE
            zipped.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()

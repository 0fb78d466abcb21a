"""Hook of MkDocs: show links that lead out of the site as paths.

Pages for contributors link to source files and decisions, which are read in the repository and are no part of the site.
"""

import posixpath
import re
from typing import Any

LINK = re.compile(r"\[(?P<text>[^\]\n]+)\]\((?P<target>[^)#:\s]+)(?:#[^)\s]*)?\)")
DOCS = "docs"


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """Return the page's text with paths in place of links to files that the site does not have."""
    folder = posixpath.dirname(page.file.src_uri)

    def linked_or_named(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found["target"]))
        known = files.get_file_from_path(target)
        is_outside = target.startswith("../") or (known is not None and known.inclusion.is_excluded())
        return named(found["text"], target) if is_outside else found[0]  # MkDocs itself warns of what is nowhere

    return LINK.sub(linked_or_named, markdown)


def named(text: str, target: str) -> str:
    """Return `text` with the path of the file in the repository, without a repeated file name."""
    path = posixpath.normpath(posixpath.join(DOCS, target))
    return f"`{path}`" if text == posixpath.basename(path) else f"{text} (`{path}`)"

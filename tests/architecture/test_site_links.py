"""The site shows files that it does not have as paths, and leaves all other links."""

import sys
from importlib import import_module
from typing import Any

import pytest
from mkdocs.structure.files import File, Files, InclusionLevel

from tests.architecture.house import ROOT


def file(path: str, level: InclusionLevel = InclusionLevel.INCLUDED) -> File:
    return File(path, "docs", "site", use_directory_urls=True, inclusion=level)


FILES = Files(
    [file("contributing/guide.md"), file("stores.md"), file("design/adr/0001-keys.md", InclusionLevel.EXCLUDED)]
)


class Page:
    file = FILES.src_uris["contributing/guide.md"]


@pytest.fixture
def site_links(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    monkeypatch.delitem(sys.modules, "site_links", raising=False)
    return import_module("site_links")


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[base.py](../../unum/base.py)", "`unum/base.py`"),
        ("[the base](../../unum/base.py#L3)", "the base (`unum/base.py`)"),
        ("[keys](../design/adr/0001-keys.md)", "keys (`docs/design/adr/0001-keys.md`)"),
        ("[Stores](../stores.md#choose)", "[Stores](../stores.md#choose)"),
        ("[nowhere](../nowhere.md)", "[nowhere](../nowhere.md)"),
        ("[here](#below), [AWS](https://aws.amazon.com/a)", "[here](#below), [AWS](https://aws.amazon.com/a)"),
    ],
)
def test_link_out_of_the_site_is_shown_as_a_path(site_links: Any, link: str, shown: str) -> None:
    assert site_links.on_page_markdown(f"See {link}.", page=Page, files=FILES) == f"See {shown}."

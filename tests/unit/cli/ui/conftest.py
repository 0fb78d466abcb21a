from collections.abc import Iterator

import pytest

from tests.unit.cli.ui.shop import Shop, Visitor, open_shop, served


@pytest.fixture(scope="module")
def shop() -> Shop:
    """A shop that no test of the module changes."""
    return open_shop()


@pytest.fixture(scope="module")
def visitor(shop: Shop) -> Iterator[Visitor]:
    """A visitor of its page, which shows only."""
    with served(shop) as found:
        yield found.enter()


@pytest.fixture
def owner() -> Iterator[tuple[Shop, Visitor]]:
    """A shop of the test's own, and a visitor of its page, which may change executions."""
    shop = open_shop()
    with served(shop, allow_changes=True) as found:
        yield shop, found.enter()

from collections.abc import Iterator

import pytest

from tests.unit.cli.traces.collector import Collector, collecting
from tests.unit.cli.ui.shop import Shop, open_shop


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


@pytest.fixture(scope="module")
def shop() -> Shop:
    """A shop that no test of the module changes."""
    return open_shop()

"""Other workflows of the app, which Tasks may start."""

from collections.abc import Collection
from typing import NamedTuple

from unum_constructs.hosting.host import Host


class OtherWorkflow(NamedTuple):
    """Another workflow of the app: alias ARNs (tokens), and functions."""

    start_alias: str
    run_alias: str
    describe_alias: str
    hosts: Collection[Host]

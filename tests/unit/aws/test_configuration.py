"""Settings in the environments of functions, also of those that an earlier version deployed."""

import json

from unum_runtime.functions.configuration import services_in

SERVICE = {"table": "t", "hosts": ["A"], "retention_s": 5}


def test_fields_that_only_earlier_versions_deployed_are_read_over() -> None:
    now, before = ({"UNUM_WORKFLOWS": json.dumps({"w": SERVICE | more})} for more in ({}, {"former_clients": True}))
    assert services_in(before) == services_in(now)

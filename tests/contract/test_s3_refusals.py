"""Refusals and conflicts of S3, which neither moto nor the emulator produce."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from unum_runtime.errors import StoreDenied, StoreError
from unum_runtime.features.bucket_state.s3 import S3Store
from unum_runtime.features.document_stores import conditional
from unum_runtime.model.naming import Key

KEY = Key("w/e:1", "000000001")
NAME = "state:w/e:1/=000000001"


class Refusing:
    """Client that refuses each operation with the next of its codes, and lists `listed`."""

    def __init__(self, *codes: str, listed: tuple[str, ...] = (), lists: bool = True) -> None:
        self.codes, self.listed, self.lists = [*codes], listed, lists
        self.asked: list[str] = []

    def get_object(self, **_parameters: Any) -> Any:
        return self._refuse("GetObject")

    def put_object(self, **_parameters: Any) -> Any:
        return self._refuse("PutObject")

    def delete_objects(self, **_parameters: Any) -> Any:
        return {"Errors": [{"Key": NAME, "Code": "SlowDown", "Message": "why"}]}

    def get_paginator(self, _operation: str) -> "Refusing":
        return self

    def paginate(self, **parameters: Any) -> Any:
        assert parameters["Prefix"].startswith(NAME.partition("/=")[0])
        if not self.lists:
            raise ClientError({"Error": {"Code": "AccessDenied"}}, "ListObjectsV2")
        return [{"Contents": [{"Key": name, "VersionId": "null"} for name in self.listed]}]

    def _refuse(self, operation: str) -> Any:
        self.asked.append(operation)
        code = self.codes.pop(0) if self.codes else ""
        if code:
            raise ClientError({"Error": {"Code": code}}, operation)
        return {}


def test_absent_object_needs_no_permission_to_list_the_bucket() -> None:
    assert S3Store(lambda: Refusing("AccessDenied"), "b").read([KEY]) == {}
    assert S3Store(lambda: Refusing("AccessDenied", listed=(f"{NAME}0",)), "b").read([KEY]) == {}


@pytest.mark.parametrize("given", [{"listed": (NAME,)}, {"lists": False}])
def test_a_lost_permission_to_read_is_no_absence(given: Any) -> None:
    with pytest.raises(StoreDenied):
        S3Store(lambda: Refusing("AccessDenied", **given), "b").read([KEY])


@pytest.mark.parametrize(("code", "kind"), [("AccessDenied", StoreDenied), ("SlowDown", StoreError)])
def test_a_refused_write_is_an_error_and_not_a_lost_race(code: str, kind: type[StoreError]) -> None:
    with pytest.raises(StoreError, match=f"PutObject s3://b/{NAME}: .*{code}") as found:
        S3Store(lambda: Refusing(code), "b").create(KEY, {}, expires_at_s=1)
    assert type(found.value) is kind


def test_a_write_beside_another_one_is_tried_again() -> None:
    client = Refusing("ConditionalRequestConflict", "NoSuchKey", "")
    assert S3Store(lambda: client, "b").create(KEY, {}, expires_at_s=1) is None
    assert client.asked == ["PutObject", "GetObject", "PutObject"]


def test_a_crowd_of_other_writers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditional, "FIRST_PAUSE_S", 0)
    client = Refusing(*["PreconditionFailed", "NoSuchKey"] * conditional.ROUNDS)
    with pytest.raises(StoreError, match="200 other writers"):
        S3Store(lambda: client, "b").create(KEY, {}, expires_at_s=1)


def test_an_object_that_s3_does_not_delete_is_an_error() -> None:
    with pytest.raises(StoreError, match=f"DeleteObjects s3://b/{NAME}: SlowDown: why"):
        S3Store(lambda: Refusing("NoSuchKey", listed=(NAME,)), "b").erase("w/e:1")


def test_members_too_far_apart_for_a_name_are_an_error() -> None:
    with pytest.raises(StoreError, match="fit into 1024 bytes, got some 9999 apart"):
        S3Store(Refusing, "b").add(KEY, 1, 10_000, expires_at_s=1)


@pytest.mark.parametrize("code", ["409", "ConditionalRequestConflict", "NoSuchKey"])
def test_write_without_a_condition_cannot_lose_a_race(code: str) -> None:
    with pytest.raises(StoreError, match=f"PutObject s3://b/.*{code}"):
        S3Store(lambda: Refusing(code), "b").add(KEY, 1, expires_at_s=1)


def test_a_read_that_fails_for_now_is_no_absence() -> None:
    with pytest.raises(StoreError, match="SlowDown"):
        S3Store(lambda: Refusing("SlowDown"), "b").read([KEY])

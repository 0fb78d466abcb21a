"""Attributes of executions: chosen at a start, found in the input, and copied by forks."""

import sys
from typing import Any

import pytest

from tests.unit.protocol.control.test_fork import forked
from tests.unit.protocol.map_platform import deliver_all
from tests.unit.protocol.map_platform import deployed as map_platform
from tests.unit.protocol.platform import Platform, chain
from unum_compiler.analysis.attribute_places import place_of
from unum_runtime.cold_start.digest import sha256
from unum_runtime.cold_start.records import replace
from unum_runtime.model.envelope import start_event
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import start_key
from unum_runtime.model.requests import INPUT, run_request, uploaded_event
from unum_runtime.model.start_facts import attributes_in
from unum_runtime.protocol.control import describe
from unum_runtime.protocol.delivery.start import start
from unum_runtime.protocol.requests import entry_aliases
from unum_runtime.protocol.runtime import Runtime
from unum_runtime.store.large_items import LargeItems
from unum_simulator.memory_store import MemoryObjects


class Counting:
    """A store that counts the keys that are read."""

    def __init__(self, store: Any) -> None:
        self._store, self.keys = store, 0

    def read(self, keys: Any) -> Any:
        self.keys += len([*keys])
        return self._store.read(keys)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


INPUT_OF = {"order": {"customer": 7, "lines": [{"sku": "b-1"}], "paid": False, "note": None}}


def deployed(language: str = "JSONPath", **places: str) -> Platform:
    platform = Platform.of({**chain("A"), "QueryLanguage": language}, A=lambda _: "done")
    found = {name: place_of(name, text) for name, text in places.items()}
    platform.workflow = Workflow.from_json(replace(platform.workflow, attributes=found or None).to_json())
    return platform


class Nowhere:
    """Lambda, which takes a start request and keeps it."""

    def invoke(self, events: Any) -> None:
        assert len(events) == 1


def here(platform: Platform) -> Runtime:
    return replace(platform.runtime(), invoker=Nowhere(), own_address="arn:aws:lambda:us-east-1:1:function:a:7")


def attributes(platform: Platform, name: str = "e") -> dict[str, str]:
    item = platform.memory.read([start_key("w", name)])[start_key("w", name)]
    assert set(item) - {"ttl"} >= {"value"}
    return dict(attributes_in(item.get("about")))


def test_paths_are_read_in_the_input_whatever_starts_the_execution() -> None:
    platform = deployed(customer="$.order.customer", sku="$.order.lines[0].sku", paid="$['order'].paid")
    expected = {"customer": "7", "sku": "b-1", "paid": "false"}
    event = entry_aliases.start_by_event(platform.runtime(), INPUT_OF, "by-event")["execution"]
    entry_aliases.run(here(platform), start_event("named", INPUT_OF), "r")
    entry_aliases.run(here(platform), run_request("asked", {INPUT: INPUT_OF}), "r")
    assert [attributes(platform, name) for name in (event, "named", "asked")] == [expected] * 3
    assert "refused" not in dict(platform.logged)


@pytest.mark.parametrize("path", ["$.a", "$.order.a", "$.order.customer.a", "$.order.lines[1].sku", "$.order[0]",
                                  "$.order.lines.sku", "$.order.note", "$.order.lines", "$.order"])  # fmt: skip
def test_an_input_without_the_value_has_no_such_attribute(path: str) -> None:
    platform = deployed(a=path, customer="$.order.customer")
    entry_aliases.run(here(platform), start_event("e", INPUT_OF), "r")
    assert attributes(platform) == {"customer": "7"}


def test_text_is_no_array() -> None:
    platform = deployed(a="$.order[0]")
    entry_aliases.run(here(platform), start_event("e", {"order": "text"}), "r")
    assert attributes(platform) == {}


def test_jsonata_is_evaluated() -> None:
    platform = deployed("JSONata", sum="{% $sum([1, $states.input.order.customer]) %}", none="{% $states.input.x %}",
                        at="{% $millis() %}")  # fmt: skip
    entry_aliases.run(here(platform), start_event("e", INPUT_OF), "r")
    assert attributes(platform) == {"sum": "8", "at": str(platform.clock.ms)}


def test_chosen_attributes_win() -> None:
    platform = deployed(customer="$.order.customer", paid="$.order.paid")
    entry_aliases.run(here(platform), start_event("e", INPUT_OF, {"customer": "8", "region": "eu"}), "r")
    entry_aliases.run(here(platform), run_request("f", {INPUT: INPUT_OF}, attributes={"customer": 8}), "r")
    assert attributes(platform) == {"customer": "8", "paid": "false", "region": "eu"}
    assert attributes(platform, "f") == {"customer": "8", "paid": "false"}
    assert "refused" not in dict(platform.logged)


def test_an_answered_start_with_bad_attributes_is_refused() -> None:
    platform = deployed()
    refused = entry_aliases.run(here(platform), run_request("e", {INPUT: 1}, attributes={"a b": "x"}), "r")
    assert refused["error"] == "InvalidExecutionInput"
    assert "attributes: expected at most 10 texts" in refused["message"]
    assert platform.memory.read([start_key("w", "e")]) == {}


def test_another_start_with_bad_attributes_begins_without_them_and_says_so() -> None:
    """There is nobody to tell, and a label is no reason to lose an event."""
    platform = deployed(customer="$.order.customer")
    entry_aliases.run(here(platform), start_event("e", INPUT_OF, {"a b": "x"}), "r")
    assert attributes(platform) == {"customer": "7"}
    (reason,) = [fields["reason"] for message, fields in platform.logged if message == "refused"]
    assert reason.startswith("attributes: expected at most 10 texts")
    assert reason.endswith("got {'a b': 'x'}")


def test_the_log_has_the_begin_of_what_is_refused() -> None:
    platform, bad = deployed(), {"a": "x" * 300}
    entry_aliases.run(here(platform), start_event("e", 1, bad), "r")
    assert dict(platform.logged)["refused"]["reason"].endswith(f"got {str(bad)[:200]}")


def test_an_uploaded_start_has_them() -> None:
    platform = deployed()
    objects = MemoryObjects()
    rt = replace(here(platform), store=LargeItems(platform.memory, objects, "w"))
    content = b'{"n":1}'
    reference = f"w/~uploads/{sha256(content)}"
    objects.put(reference, content)
    entry_aliases.run(rt, uploaded_event("e", reference, {"customer": "7"}), "r")
    assert attributes(platform) == {"customer": "7"}


def test_an_equal_start_with_other_attributes_is_the_same_execution() -> None:
    platform = deployed()
    for customer in ("7", "8"):
        reply = entry_aliases.run(here(platform), run_request("e", {INPUT: 1}, attributes={"customer": customer}), "r")
        assert reply["IsNew"] is (customer == "7")
    assert attributes(platform) == {"customer": "7"}


def test_attributes_cost_no_request() -> None:
    platform = deployed()
    platform.store = counting = Counting(platform.memory)
    entry_aliases.run(here(platform), start_event("e", 1), "r")
    plain = counting.keys
    entry_aliases.run(here(platform), start_event("f", 1, {"customer": "7"}), "r")
    assert counting.keys == 2 * plain


def test_description_has_attributes() -> None:
    platform = deployed()
    entry_aliases.run(here(platform), start_event("e", 1, {"customer": "7"}), "r")
    entry_aliases.run(here(platform), start_event("f", 1), "r")
    asked = [describe.answer(platform.runtime(), {"$unum": 1, "describe": name}) for name in ("e", "f")]
    assert asked[0]["Attributes"] == {"customer": "7"}
    assert "Attributes" not in asked[1]


def test_a_fork_has_those_of_its_original() -> None:
    platform = map_platform(chain("A", "B"), A=lambda _: 1, B=lambda _: 2)
    start(platform.runtime(), "e", 1, {"customer": "7"})
    deliver_all(platform)
    forked(platform, "B")
    assert attributes(platform, "f") == {"customer": "7"}


@pytest.mark.parametrize("bad", ["$", "x", "", "$$.a", "$.a[*]", "$..a", "{% ( %}", "{% $states.result %}", 5, None])
def test_what_is_no_place_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match=r"attributes\['a'\]: expected a reference path into the input, such as"):
        place_of("a", bad)


def test_a_definition_without_attributes_has_the_text_of_before() -> None:
    plain = Platform.of(chain("A"), A=len).workflow
    assert "attributes" not in plain.to_json()
    assert Workflow.from_json(plain.to_json()).attributes is None


def test_a_start_without_attributes_imports_nothing_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "unum_runtime.protocol.delivery.attributes", None)  # an import of it fails
    platform = Platform.of(chain("A"), A=lambda event: event)
    platform.start("e", 1)
    assert platform.ending() is not None
    with pytest.raises(ImportError):
        start(platform.runtime(), "f", 1, {"customer": "7"})

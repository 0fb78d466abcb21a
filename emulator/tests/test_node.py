"""Functions for Node.js: what their callers see of an error."""

from typing import Any

import pytest

THROWS = """
class OrderRejected extends Error {
  constructor(message) { super(message); this.name = "OrderRejected"; }
}
const later = async (event) => { throw event === "text" ? "only a text" : new OrderRejected(event); };
exports.handler = (event, context, callback) => {
  if (event === "now") throw new OrderRejected(event);
  if (event === "callback") return callback(new OrderRejected(event));
  return event === null ? callback(null, "fine") : later(event);
};
"""


@pytest.fixture(scope="module")
def throwing(cloud: Any) -> str:
    name: str = cloud.function("", Runtime="nodejs22.x", files={"index.js": THROWS})
    return name


@pytest.mark.parametrize("when", ["now", "later", "callback"])
def test_errors_have_their_name_and_their_stack(cloud: Any, throwing: str, when: str) -> None:
    body, answer = cloud.invoke(throwing, when)
    assert answer["FunctionError"] == "Unhandled"
    assert (body["errorType"], body["errorMessage"]) == ("OrderRejected", when)
    assert any("index.js" in line for line in body["trace"])


def test_what_is_thrown_without_being_an_error_has_its_type(cloud: Any, throwing: str) -> None:
    body, _ = cloud.invoke(throwing, "text")
    assert (body["errorType"], body["errorMessage"]) == ("string", "only a text")


def test_results_stay_as_they_are(cloud: Any, throwing: str) -> None:
    assert cloud.invoke(throwing)[0] == "fine"

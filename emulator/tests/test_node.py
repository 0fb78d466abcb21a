"""Functions for Node.js: what their callers see of an error, and the clients that they find."""

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


BUNDLED = """
const copied = (module) => {
  const copy = Object.create(Object.getPrototypeOf(module));
  for (const name of Object.getOwnPropertyNames(module)) copy[name] = module[name];
  return copy;
};
const ssm = copied(require("@aws-sdk/client-ssm"));
exports.handler = async (event) => {
  if (ssm instanceof Map) return "never ends, if the module is its own prototype";
  await new ssm.SSMClient({}).send(new ssm.PutParameterCommand({ Name: event, Value: "from Node.js", Type: "String" }));
};
"""


def test_bundled_functions_find_clients_of_the_runtime(cloud: Any) -> None:
    function = cloud.function("", Runtime="nodejs22.x", files={"index.js": BUNDLED}, Timeout=30)
    assert cloud.invoke(function, "/bundled")[0] is None
    parameter = cloud.client("ssm").get_parameter(Name="/bundled")["Parameter"]
    assert parameter["Value"] == "from Node.js"

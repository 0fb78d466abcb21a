"""Workflows for the table of effects, and how they are written."""

from unum_compiler import compile_workflow
from unum_compiler import graph as g
from unum_compiler.definition import Definition
from unum_compiler.options import FunctionOptions
from unum_runtime.cold_start.records import replace
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json


def flow(options: dict[str, FunctionOptions] | None = None, /, **states: Json) -> Workflow:
    """A workflow that begins with the first of `states`; further fields of the machine are named in lower case."""
    fields = {name: states.pop(name) for name in [*states] if name[0].islower()}
    machine = {"StartAt": next(iter(states)), "States": states}
    top = {"timeout": "TimeoutSeconds"}
    definition = {**machine, **{top[name]: value for name, value in fields.items()}}
    return compile_workflow(definition, name="w", functions=None, options=options or {})


def task(then: str | None = None, **fields: Json) -> Json:
    return {"Type": "Task", "Resource": "f", **_next(then), **fields}


def do_pass(then: str | None = None, **fields: Json) -> Json:
    return {"Type": "Pass", **_next(then), **fields}


def wait(then: str | None = None, **fields: Json) -> Json:
    return {"Type": "Wait", "Seconds": 60, **_next(then), **fields}


def each(then: str | None = None, /, *, fields: Json = None, **branch: Json) -> Json:
    """A Map over its input."""
    return {
        "Type": "Map",
        "ItemProcessor": {"StartAt": next(iter(branch)), "States": branch},
        **_next(then),
        **(fields or {}),
    }


def choice(number: int, then: str = "P", default: str = "B") -> Json:
    """A Choice of `then` where the input is `number`."""
    return {
        "Type": "Choice",
        "Choices": [{"Variable": "$", "NumericEquals": number, "Next": then}],
        "Default": default,
    }


def graph(piece: g.Piece) -> Workflow:
    return Definition.from_graph(piece).compile("w", None)


def _next(then: str | None) -> Json:
    return {"End": True} if then is None else {"Next": then}


CHAIN = flow(A=task("B"), B=task())
PASS = flow(A=task("P"), P=do_pass(Result="p"))
FAIL = flow(A=task("F"), F={"Type": "Fail", "Error": "Boom", "Cause": "why"})
ASSIGN = flow(A=task("B"), B=task(Parameters={"v.$": "$v"}, Assign={"v": 1}))
ECHO = flow(A=task("B"), B=task(Parameters={"in.$": "$$.Execution.Input"}))
CAUGHT = flow(A=task("B", Catch=[{"ErrorEquals": ["States.ALL"], "Next": "C"}]), B=task(), C=task())
WAIT = flow(A=task("W"), W=wait())
WAIT_THEN_TASK = flow(A=task("W"), W=wait("B"), B=task())
SKIPPED = flow({"f": FunctionOptions(checkpoint=False)}, A=task("B"), B={**task(), "Resource": "g"})
MAP = flow(A=task("M"), M=each(B=task()))
PURE_MAP = flow(A=task("M"), M=each(P=do_pass(Result=7)))
LANES = flow(A=task("M"), M=each(B=task("C"), C=task(), fields={"MaxConcurrency": 2}))
MAP_FIRST = flow(M=each(B=task(), fields={"Assign": {"v": 1}}))
JOINED = flow(A=task("M"), M=each("J", B=task()), J=task())
TIMED = flow(A=task("B"), B=task(), timeout=2)
TIMED_FAIL = flow(A=task("F"), F={"Type": "Fail", "Error": "Boom", "Cause": "why"}, timeout=2)
TIMED_MAP = flow(A=task("M"), M=each(B=task("C"), C=task()), timeout=2)
NEIGHBOURS = graph(g.map(g.task("b") >> g.task("c").meets_previous(), items=g.out))
QUORUM = graph(g.task("a") >> g.map(g.task("b"), items=g.out).quorum(2))
BUDGETED = replace(CHAIN, hop_budget=1)

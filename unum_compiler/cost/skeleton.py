"""A workflow without its data flow: what it does when nothing is known of its data but how much there is.

Tasks hand on texts of a given size, Maps have a given number of branches, loops a given number of rounds, and every
other Choice takes its first way that does not fail. A loop with a fan-out right before its Choice has one round. What
the protocol does is left as it is: guards, collection, which states are committed, what a join has to read, and how
many branches run at once, if that is a number in the definition.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from unum_runtime.model.ir import (
    DATA_SET_TASKS,
    Choice,
    Fail,
    FanOut,
    Form,
    Json,
    Language,
    Map,
    Pattern,
    State,
    Task,
    Wait,
    Work,
    Workflow,
)
from unum_runtime.simulator.local import Context, Function

_ROUND = "round"
"""Field of what a Task hands on that is above 0 where a loop behind it goes on."""

_AGAIN: Json = {
    "And": [{"Variable": f"$.{_ROUND}", "IsPresent": True}, {"Variable": f"$.{_ROUND}", "NumericGreaterThan": 0}]
}
_NEW: Json = {"Variable": f"$.{_ROUND}", "IsPresent": False}
"""No Task has run since the scope began, or since a fan-out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """What is taken for granted of a workflow's data.

    Attributes:
        items: branches of every Map.
        rounds: how often the Tasks of a loop run.
        result_bytes: how large what a Task hands on is, about.
    """

    items: int = 10
    rounds: int = 3
    result_bytes: int = 200


def skeleton(workflow: Workflow, amounts: Amounts) -> Workflow:
    """`workflow` without its data flow."""
    states = {name: _bare(workflow, state, amounts) for name, state in workflow.states.items()}
    return replace(workflow, states=states, keeps_input=None, counts_redrives=None, timeout_s=None, payload_limit=None)


def stand_ins(workflow: Workflow, amounts: Amounts) -> Mapping[str, Function]:
    """A function for every Task of a skeleton; for one execution."""
    stand_in = _StandIn(amounts)
    return dict.fromkeys((task.name for task in workflow.tasks), stand_in) | dict.fromkeys(
        (task.function for task in workflow.tasks), stand_in
    )


@dataclass
class _StandIn:
    amounts: Amounts
    _runs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __call__(self, _event: Json, context: Context) -> Json:
        """A text unlike others, which would be the same object, and whether a loop goes on; branches count anew."""
        scope, _, _ = context.unum.invocation.rpartition("#")
        run = context.unum.state, scope
        self._runs[run] += 1
        return {_ROUND: self._runs[run] % self.amounts.rounds, "text": self._text()}

    def _text(self) -> str:
        size = self.amounts.result_bytes
        return str(self._runs.total()).ljust(size, "x")[:size]


def _bare(workflow: Workflow, state: State, amounts: Amounts) -> State:
    bare = replace(state, data={}, language=Language.JSONPATH)
    match bare:
        case Task():
            resource = None if bare.resource in DATA_SET_TASKS else bare.resource
            form = Form.DIRECT if bare.form is Form.INVOKE or resource is None else bare.form
            return replace(
                bare, data=_time_limit(state), form=form, resource=resource, assumes_role=False, retry=(), catch=()
            )
        case FanOut():
            is_own_output = workflow.needs_origin(workflow.fan_out(state.name))
            return _bare_fan_out(bare, amounts, _limit(state), is_own_output=is_own_output)
        case Choice():
            return _decided(workflow, bare)
        case Wait():
            seconds = state.data.get("Seconds")
            return replace(bare, data={"Seconds": seconds if isinstance(seconds, int) else 1})
        case Fail():
            return replace(bare, data={"Error": state.data.get("Error", "Fail")})
    return bare


def _bare_fan_out(fan_out: FanOut, amounts: Amounts, limit: Mapping[str, Json], *, is_own_output: bool) -> FanOut:
    """A Map with so many items, and its `limit`.

    Where the original's output is made of its input too, it is so here, so that the join reads that.
    """
    branches = amounts.items if isinstance(fan_out, Map) else 1
    output = {"Output": "x" * (branches * amounts.result_bytes)} if is_own_output else {}
    data = {"Items": list(range(amounts.items)), **limit} if isinstance(fan_out, Map) else {}
    language = Language.JSONATA if isinstance(fan_out, Map) or is_own_output else Language.JSONPATH
    bare = replace(fan_out, data={**data, **output}, language=language, retry=(), catch=())
    if isinstance(bare, Map):
        return replace(bare, has_limit=bool(limit), tolerates=False, reads=False, writes=False)
    return bare


def _time_limit(state: State) -> Mapping[str, Json]:
    """How long a Task may take, if the definition says it: with that much time left, its function may go on with it."""
    limit = state.data.get("TimeoutSeconds")
    is_here = isinstance(state, Task) and state.pattern is Pattern.RESPONSE
    return {"TimeoutSeconds": limit} if is_here and isinstance(limit, int) else {}


def _limit(state: State) -> Mapping[str, Json]:
    """How many branches run at once, if the definition says it; what the data say is not known."""
    limit = state.data.get("MaxConcurrency")
    return {"MaxConcurrency": limit} if isinstance(limit, int) and limit > 0 else {}


def _decided(workflow: Workflow, choice: Choice) -> Choice:
    """The Choice as one that leads back while its loop has rounds left, and else always on the same way."""
    targets = [target for _, target in choice.rules] + ([] if choice.default is None else [choice.default])
    back = [target for target in targets if choice.name in _reached(workflow, target)]
    ways = [target for target in targets if target not in back]
    onward = next((target for target in ways if not isinstance(workflow.states[target], Fail)), (ways or back)[0])
    rules = ((rule, target) for target in back[:1] for rule in _rules(workflow, choice, target))
    return replace(choice, rules=tuple(rules), default=onward)


def _rules(workflow: Workflow, choice: Choice, back: str) -> list[Json]:
    """When `choice` leads back: also on its first visit, if a Task in the loop counts the rounds from then on."""
    names = [name for name in _reached(workflow, back) if choice.name in _reached(workflow, name)]
    loop = [workflow.states[name] for name in names]
    has_task = any(isinstance(state, Task) for state in loop)
    return [_AGAIN, _NEW] if has_task and not any(isinstance(state, FanOut) for state in loop) else [_AGAIN]


def _reached(workflow: Workflow, start: str) -> set[str]:
    """The states of one scope that control can come to from `start`, itself included."""
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        name = ahead.pop()
        if name not in seen:
            seen.add(name)
            ahead.extend(_followers(workflow.states[name]))
    return seen


def _followers(state: State) -> Iterator[str]:
    if isinstance(state, Choice):
        yield from (target for _, target in state.rules)
    if isinstance(state, Work):
        yield from (catcher.next for catcher in state.catch)
    yield from filter(None, (state.default if isinstance(state, Choice) else None, state.next))

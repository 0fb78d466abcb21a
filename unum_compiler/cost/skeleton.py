"""A workflow stripped of its data flow, behaving like the original for assumed amounts of data.

Tasks return texts of a given size, Maps have a given number of branches, loops a given number of rounds. Every other
Choice takes its first continuation that does not fail. A loop with a fan-out right before its Choice has one round. The
protocol's work stays the same: guards, collection, committed states, values that a join reads, and the number of
branches that run at once, if the definition has it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from unum_compiler.traversal import reachable_from
from unum_runtime.model import states
from unum_runtime.model.ir import Workflow
from unum_runtime.model.states import Json
from unum_simulator.local import Function
from unum_simulator.stand_ins.lambda_context import LambdaContext

_ROUND = "round"
"""Field of a Task's result; above 0 while the following loop has rounds left."""

_AGAIN: Json = {
    "And": [{"Variable": f"$.{_ROUND}", "IsPresent": True}, {"Variable": f"$.{_ROUND}", "NumericGreaterThan": 0}]
}
_NEW: Json = {"Variable": f"$.{_ROUND}", "IsPresent": False}
"""A condition that holds if no Task has run since the beginning of the scope, or since a fan-out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """Assumptions about a workflow's data.

    Attributes:
        items: branches of every Map.
        rounds: runs of the Tasks in a loop.
        result_bytes: approximate size of a Task's result.
    """

    items: int = 10
    rounds: int = 3
    result_bytes: int = 200


def skeleton(workflow: Workflow, amounts: Amounts) -> Workflow:
    """Return `workflow` without its data flow."""
    bare = {name: _bare(workflow, state, amounts) for name, state in workflow.states.items()}
    workflow = replace(workflow, keeps_input=None, counts_redrives=None, names_children=None, draws=None)
    return replace(workflow, states=bare, timeout_s=None, payload_limit=None)


def stand_ins(workflow: Workflow, amounts: Amounts) -> Mapping[str, Function]:
    """Return one function per Task of a skeleton, good for one execution."""
    stand_in = _StandIn(amounts)
    return dict.fromkeys((task.name for task in workflow.tasks), stand_in) | dict.fromkeys(
        (task.function for task in workflow.tasks), stand_in
    )


@dataclass
class _StandIn:
    amounts: Amounts
    _runs: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __call__(self, _event: Json, context: LambdaContext) -> Json:
        """Return unique text, because equal texts would share one object, plus the loop's remaining rounds."""
        scope, _, _ = context.unum.invocation.rpartition("#")
        run = context.unum.state, scope
        self._runs[run] += 1
        return {_ROUND: self._runs[run] % self.amounts.rounds, "text": self._text()}

    def _text(self) -> str:
        size = self.amounts.result_bytes
        return str(self._runs.total()).ljust(size, "x")[:size]


def _bare(workflow: Workflow, state: states.State, amounts: Amounts) -> states.State:
    bare = replace(state, data={}, language=states.Language.JSONPATH)
    match bare:
        case states.Task():
            resource = None if bare.resource in states.DATA_SET_TASKS else bare.resource
            form = states.Form.DIRECT if bare.form is states.Form.INVOKE or resource is None else bare.form
            return replace(
                bare,
                data={**_time_limit(state), **_signal_key(state)},
                form=form,
                resource=resource,
                assumes_role=False,
                retry=(),
                catch=(),
            )
        case states.FanOut():
            is_own_output = workflow.needs_origin(workflow.fan_out(state.name))
            return _bare_fan_out(bare, amounts, _limit(state), is_own_output=is_own_output)
        case states.Choice():
            return _decided(workflow, bare)
        case states.Wait():
            seconds = state.data.get("Seconds")
            return replace(bare, data={"Seconds": seconds if isinstance(seconds, int) else 1})
        case states.Fail():
            return replace(bare, data={"Error": state.data.get("Error", "Fail")})
    return bare


def _bare_fan_out(
    fan_out: states.FanOut, amounts: Amounts, limit: Mapping[str, Json], *, is_own_output: bool
) -> states.FanOut:
    """Return a Map with `limit` and assumed items, or a bare Parallel.

    If the original computes its output from its input as well, so does the result: its join then reads the input.
    """
    branches = amounts.items if isinstance(fan_out, states.Map) else 1
    output = {"Output": "x" * (branches * amounts.result_bytes)} if is_own_output else {}
    data = {"Items": list(range(amounts.items)), **limit} if isinstance(fan_out, states.Map) else {}
    language = states.Language.JSONATA if isinstance(fan_out, states.Map) or is_own_output else states.Language.JSONPATH
    bare = replace(fan_out, data={**data, **output}, language=language, retry=(), catch=())
    if isinstance(bare, states.Map):
        return replace(bare, has_limit=bool(limit), tolerates=False, reads=False, writes=False)
    return bare


def _time_limit(state: states.State) -> Mapping[str, Json]:
    """Return a Task's time limit, if constant: fusion requires that much time in the function."""
    limit = state.data.get("TimeoutSeconds")
    is_here = isinstance(state, states.Task) and state.pattern is states.Pattern.RESPONSE
    return {"TimeoutSeconds": limit} if is_here and isinstance(limit, int) else {}


def _signal_key(state: states.State) -> Mapping[str, Json]:
    """Return a key for a wait for a signal that has one, which costs a write."""
    is_wait = isinstance(state, states.Task) and (state.resource or "").startswith(states.SIGNAL)
    has_key = is_wait and not state.data.keys().isdisjoint(("Parameters", "Arguments"))
    return {"Parameters": {"Key": "key"}} if has_key else {}


def _limit(state: states.State) -> Mapping[str, Json]:
    """Return the definition's limit of concurrent branches, if any."""
    limit = state.data.get("MaxConcurrency")
    return {"MaxConcurrency": limit} if isinstance(limit, int) and limit > 0 else {}


def _decided(workflow: Workflow, choice: states.Choice) -> states.Choice:
    """Return the Choice with rules that continue its loop for the assumed rounds, then one fixed continuation."""
    targets = [target for _, target in choice.rules] + ([] if choice.default is None else [choice.default])
    back = [target for target in targets if choice.name in _reached(workflow, target)]
    others = [target for target in targets if target not in back]
    onward = next(
        (target for target in others if not isinstance(workflow.states[target], states.Fail)), (others or back)[0]
    )
    rules = ((rule, target) for target in back[:1] for rule in _rules(workflow, choice, target))
    return replace(choice, rules=tuple(rules), default=onward)


def _rules(workflow: Workflow, choice: states.Choice, back: str) -> list[Json]:
    """Return the conditions under which `choice` continues its loop.

    The first visit continues, too, if a Task in the loop counts the rounds from then on.
    """
    names = [name for name in _reached(workflow, back) if choice.name in _reached(workflow, name)]
    loop = [workflow.states[name] for name in names]
    has_task = any(isinstance(state, states.Task) for state in loop)
    return [_AGAIN, _NEW] if has_task and not any(isinstance(state, states.FanOut) for state in loop) else [_AGAIN]


def _reached(workflow: Workflow, start: str) -> tuple[str, ...]:
    """Return the states of one scope that control can reach from `start`, including `start`."""
    return reachable_from([start], lambda name: _followers(workflow.states[name]))


def _followers(state: states.State) -> Iterator[str]:
    if isinstance(state, states.Choice):
        yield from (target for _, target in state.rules)
    if isinstance(state, states.Work):
        yield from (catcher.next for catcher in state.catch)
    yield from filter(None, (state.default if isinstance(state, states.Choice) else None, state.next))

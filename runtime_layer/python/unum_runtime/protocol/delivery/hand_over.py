"""Hand an invocation over to the intake when AWS refuses what follows from it.

A deployment takes permissions from roles, which belong to functions and not to their versions. An execution of an older
version may still need them. The intake, a version of the failure handler, may invoke all functions of the workflow.
"""

from unum_runtime.errors import RouteGone, StoreDenied
from unum_runtime.model.envelope import Envelope
from unum_runtime.model.naming import Name
from unum_runtime.model.take_over_request import TakeOver
from unum_runtime.protocol.planning.plan import Effect, Invoke
from unum_runtime.protocol.runtime import Runtime


def hand_over(rt: Runtime, name: Name, state: str, denied: RouteGone | StoreDenied, effect: Effect) -> None:
    """Let the intake perform `effect`, which follows from invocation `name`.

    Args:
        rt: the runtime.
        name: the invocation, with a committed outcome; or the one that `effect` sends, without an outcome.
        state: its state; empty for a start record.
        denied: the refusal.
        effect: the planned effect; an attempt's retry if it has the same name.

    Raises:
        RouteGone: this runtime has no intake, or the invocation has no outcome that the intake could plan from.
        StoreDenied: the same, if the store refused.
        InvokeError: the intake was not reached.
    """
    # A Task without a checkpoint has nothing to plan from, and its code would run again and again.
    if rt.hand_over is None or rt.workflow.committed_by(state) is not None:
        raise denied
    rt.log("handed over", invocation=str(name), reason=str(denied))
    retry = effect if isinstance(effect, Invoke) and effect.name == name else None
    rt.hand_over(
        TakeOver(
            workflow=rt.workflow.name,
            digest=rt.workflow.digest,
            name=name,
            state=state,
            address=rt.own_address,
            retries=retry.retries if retry is not None else (),
            due_ms=retry.due_ms if retry is not None else None,
        )
    )


def hand_over_event(rt: Runtime, envelope: Envelope, address: str, denied: RouteGone) -> None:
    """Let the intake send `envelope` to `address`; see `hand_over`.

    The event may be of another version than this function: a responder's request arrives at the newest version.

    Raises:
        RouteGone: this runtime has no intake.
        InvokeError: the intake was not reached.
    """
    if rt.hand_over is None:
        raise denied
    rt.log("handed over", invocation=str(envelope.name), reason=str(denied))
    rt.hand_over(TakeOver.of(envelope, address))

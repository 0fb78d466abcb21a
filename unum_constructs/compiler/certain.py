"""What is certain to follow a state, whatever the data are."""

from unum_constructs.compiler import asl


def certain(state: asl.State, scope: asl.Scope) -> asl.State | None:
    """The first state after `state` that is no Pass; None where its scope ends before, or never leaves Pass states."""
    passed: set[str] = set()
    name = state.next
    while name is not None and name not in passed:
        following = scope.states.get(name)
        if not isinstance(following, asl.Pass):
            return following
        passed.add(name)
        name = following.next
    return None


def certain_task(state: asl.State, scope: asl.Scope) -> asl.Task | None:
    """The Task that follows `state` with nothing but Pass states between; None if none does for certain."""
    following = certain(state, scope)
    return following if isinstance(following, asl.Task) else None

"""What is certain to follow a state, whatever the data are."""

from collections.abc import Iterator

from unum_compiler.parsing import tree


def certain(state: tree.State, scope: tree.Scope) -> tree.State | None:
    """The first state after `state` that is no Pass; None where its scope ends before, or never leaves Pass states."""
    return next((following for following in _after(state, scope) if not isinstance(following, tree.Pass)), None)


def certain_task(state: tree.State, scope: tree.Scope) -> tree.Task | None:
    """The Task that follows `state` with nothing but Pass states between; None if none does for certain."""
    following = certain(state, scope)
    return following if isinstance(following, tree.Task) else None


def plain_task(state: tree.State, scope: tree.Scope) -> tree.Task | None:
    """The same, if none of the Pass states between assigns a variable."""
    for following in _after(state, scope):
        if isinstance(following, tree.Task):
            return following
        if not isinstance(following, tree.Pass) or "Assign" in following.data:
            return None
    return None


def _after(state: tree.State, scope: tree.Scope) -> Iterator[tree.State]:
    """The states that follow `state` one after the other, until it is not certain, or the first of them again."""
    passed: set[str] = set()
    name = state.next
    while name is not None and name not in passed and name in scope.states:
        passed.add(name)
        yield scope.states[name]
        name = scope.states[name].next

"""The states that certainly follow a state, whatever the data are."""

from collections.abc import Iterator

from unum_compiler.parsing import tree


def next_besides_pass(state: tree.State, scope: tree.Scope) -> tree.State | None:
    """Return the first state after `state` that is no Pass; None if the scope ends or loops before one."""
    return next((following for following in _after(state, scope) if not isinstance(following, tree.Pass)), None)


def certain_task(state: tree.State, scope: tree.Scope) -> tree.Task | None:
    """Return the Task that certainly follows `state`, behind Pass states at most; None without such a Task."""
    following = next_besides_pass(state, scope)
    return following if isinstance(following, tree.Task) else None


def plain_task(state: tree.State, scope: tree.Scope) -> tree.Task | None:
    """Return the `certain_task` of `state` if no Pass state before it assigns a variable."""
    for following in _after(state, scope):
        if isinstance(following, tree.Task):
            return following
        if not isinstance(following, tree.Pass) or "Assign" in following.data:
            return None
    return None


def _after(state: tree.State, scope: tree.Scope) -> Iterator[tree.State]:
    """Yield the states that follow `state` by ``Next``, until a state has none or is repeated."""
    passed: set[str] = set()
    name = state.next
    while name is not None and name not in passed and name in scope.states:
        passed.add(name)
        yield scope.states[name]
        name = scope.states[name].next

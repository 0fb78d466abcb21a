"""States certain to follow another, regardless of data."""

from collections.abc import Iterator

from unum_compiler.parsing import tree


def next_besides_pass(state: tree.State, scope: tree.Scope) -> tree.State | None:
    """Return the next state other than Pass after `state`; None at the scope's end and in a loop."""
    return next((following for following in _after(state, scope) if not isinstance(following, tree.Pass)), None)


def certain_task(state: tree.State, scope: tree.Scope) -> tree.Task | None:
    """Return the Task that certainly follows `state`, skipping Pass states; None without one."""
    following = next_besides_pass(state, scope)
    return following if isinstance(following, tree.Task) else None


def plain_task(state: tree.State, scope: tree.Scope) -> tree.Task | None:
    """Return the `certain_task` of `state` unless a skipped Pass assigns variables."""
    for following in _after(state, scope):
        if isinstance(following, tree.Task):
            return following
        if not isinstance(following, tree.Pass) or "Assign" in following.data:
            return None
    return None


def _after(state: tree.State, scope: tree.Scope) -> Iterator[tree.State]:
    """Yield states along ``Next``, starting after `state`, until one ends or repeats."""
    passed: set[str] = set()
    name = state.next
    while name is not None and name not in passed and name in scope.states:
        passed.add(name)
        yield scope.states[name]
        name = scope.states[name].next

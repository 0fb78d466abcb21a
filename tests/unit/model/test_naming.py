from hypothesis import given
from hypothesis import strategies as st

from unum_runtime.model.naming import (
    MAX_PARTITION_BYTES,
    Execution,
    Frame,
    Name,
    Scope,
    checkpoint_key,
    completion_key,
    definition_key,
    definition_partition,
    definition_partition_prefix,
    execution_partition,
    partition_prefixes,
    root_key,
    start_partition_prefix,
)

texts = st.text(alphabet="aF01/@.:~[]#%- é", min_size=1, max_size=6)
small = st.integers(0, 3)
indexes = st.one_of(small, st.sampled_from([255, 256, 257, 511, 512, 10_000]))
frames = st.builds(Frame, texts, small, small, indexes, st.integers(1, 20_000))
executions = st.builds(Execution, texts, st.integers(0, 3))
names = st.builds(Name, executions, st.lists(frames, max_size=3).map(tuple), small)
scopes = st.builds(
    Scope, executions, st.lists(frames, max_size=2).map(tuple), texts, small, small, st.integers(1, 20_000)
)


def identity(name: Name) -> tuple[object, ...]:
    """Return the parts of a name that distinguish it: all but sizes, because a scope has one size."""
    places = tuple((f.state, f.iteration, f.generation, f.index) for f in name.frames)
    start = not name.frames and name.step == 0
    return (name.execution.name, None if start else name.execution.started_ms, places, name.step)


@given(texts, names, texts, names)
def test_keys_are_equal_only_for_equal_names(workflow: str, name: Name, other_workflow: str, other: Name) -> None:
    same = (workflow, identity(name)) == (other_workflow, identity(other))
    assert (checkpoint_key(workflow, name) == checkpoint_key(other_workflow, other)) == same


@given(names, names)
def test_the_text_of_a_name_is_injective_too(name: Name, other: Name) -> None:
    def places(given: Name) -> tuple[object, ...]:
        return (given.execution, tuple((f.state, f.iteration, f.generation, f.index) for f in given.frames), given.step)

    assert (str(name) == str(other)) == (places(name) == places(other))


@given(texts, names, scopes, small)
def test_sets_never_lie_where_checkpoints_do(workflow: str, name: Name, scope: Scope, shard: int) -> None:
    partition = checkpoint_key(workflow, name).partition
    assert partition not in (completion_key(workflow, scope, shard).partition, root_key(workflow, scope).partition)


@given(texts, names, texts)
def test_only_start_records_have_the_prefix_that_clients_may_write(workflow: str, name: Name, other: str) -> None:
    is_start = not name.frames and name.step == 0
    covered = checkpoint_key(workflow, name).partition.startswith(start_partition_prefix(other))
    assert covered == (is_start and workflow == other)


@given(texts, texts, st.text("0123456789abcdef", min_size=12, max_size=12), texts, names)
def test_only_definitions_have_the_prefix_that_few_functions_may_write(
    workflow: str, other: str, digest: str, of_name: str, name: Name
) -> None:
    key = definition_key(workflow, digest, 1, 0)
    assert key.partition == definition_partition(workflow, digest)
    assert key.partition.startswith(definition_partition_prefix(other)) == (workflow == other)
    assert not any(key.partition.startswith(prefix) for prefix in partition_prefixes(other))
    assert not checkpoint_key(of_name, name).partition.startswith(definition_partition_prefix(other))


def test_f1_is_not_f10() -> None:
    execution = Execution("e", 0)
    one = Name(execution, (Frame("F1", 0, 0, 0, 1),), 0)
    ten = Name(execution, (Frame("F", 10, 0, 0, 1),), 0)
    assert checkpoint_key("w", one) != checkpoint_key("w", ten)
    eleven = Name(execution, (Frame("F", 1, 0, 11, 20),), 1)
    hundred_and_eleven = Name(execution, (Frame("F", 1, 0, 1, 20),), 11)
    assert checkpoint_key("w", eleven) != checkpoint_key("w", hundred_and_eleven)


def test_the_hops_of_a_branch_include_those_of_the_scopes_around_it() -> None:
    frames = (Frame("M", 5, 0, 1, 2), Frame("N", 3, 1, 0, 1))
    assert Name(Execution("e", 0), frames, 2).hops == 5 + 3 + 2
    assert Name(Execution("e", 0), (), 7).hops == 7


def test_deep_nesting_keeps_keys_within_dynamodbs_limits() -> None:
    deep = tuple(Frame("state" * 16, 3, 0, index, 9) for index in range(40))
    keys = {checkpoint_key("w", Name(Execution("e", 0), (*deep, Frame("s", 0, 0, index, 3)), 0)) for index in range(3)}
    assert len(keys) == 3
    assert all(len(key.partition.encode()) <= MAX_PARTITION_BYTES for key in keys)


@given(st.integers(1, 2_000))
def test_shards_hold_every_branch_once(size: int) -> None:
    scope = Scope(Execution("e", 0), (), "M", 1, 0, size)
    assert sum(scope.shard_size(shard) for shard in range(scope.shards)) == size
    assert {scope.branch(index)[-1].shard for index in (0, size - 1)} == {0, scope.shards - 1}


def test_a_name_used_again_later_is_another_execution() -> None:
    assert execution_partition("w", Execution("e", 1)) != execution_partition("w", Execution("e", 2))

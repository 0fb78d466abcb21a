"""Names for type checkers: the bytecode of a layer has none of them, and needs none."""

import ast
from pathlib import Path
from typing import Any

from tests.synth.test_layer import IN_JSONATA, INTRINSIC, SERVICE, compiled, layer_of, made, module_name, ran
from unum_constructs.layer.bytecode import _WithoutTypes


def test_nobody_uses_the_types_that_bytecode_has_no_more() -> None:
    """Bytecode has `object` instead, which other modules can still import."""
    everything = {**layer_of(**SERVICE), **layer_of(**INTRINSIC), **layer_of(**IN_JSONATA)}
    modules = {module_name(path): ast.parse(data) for path, data in everything.items() if path.endswith(".py")}
    types = {(name, each) for name, module in modules.items() for each in types_of(module)}
    assert {("unum_runtime.model.states", "Json"), ("unum_runtime.asl.jsonpath.path_syntax", "_Part")} <= types
    for module in modules.values():
        known = types_of(module) | {each for origin, each in imported_names(module) if (origin, each) in types}
        bare = ast.parse(ast.unparse(_WithoutTypes().visit(module)))
        used = {node.id for node in ast.walk(bare) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        assert known & used == set()


def types_of(module: ast.Module) -> set[str]:
    found = set()
    for each in module.body:
        match each:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="TypeVar"))):
                found.add(name)
    return found


def imported_names(module: ast.Module) -> set[tuple[str, str]]:
    """Return names imported by `module`, with their source modules."""
    imports = [node for node in ast.walk(module) if isinstance(node, ast.ImportFrom)]
    return {(str(node.module), each.name) for node in imports for each in node.names}


def test_bytecode_loads_nothing_for_types(tmp_path: Path) -> None:
    code = (
        "import sys, unum_runtime.functions.task_function; print({'typing', 'dataclasses', 'inspect'} & {*sys.modules})"
    )
    assert ran(made(layer_of(Type="Pass")), tmp_path, code, "-S") == "set()\n"


TYPED = """
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, TypeAlias, TypeVar, cast
if TYPE_CHECKING:
    from nowhere import Nothing
Many: TypeAlias = list[Missing]
Part = TypeVar("Part", bound=Missing)
count: Missing = 1
later: Missing
class Named(Protocol):
    shared: ClassVar[Missing] = 2
    name: Missing
    def shown(self, *, at: Missing = 3) -> Missing:
        held: Missing = at
        return cast("Missing", held)
class Pair(NamedTuple):
    left: Missing
    right: Missing = 4
"""


def test_what_stands_for_types_is_not_evaluated() -> None:
    names: dict[str, Any] = {}
    exec(compiled(TYPED.encode()), names)  # noqa: S102 - our own
    assert (names["count"], names["Named"]().shown(), names["Named"].shared, names["Pair"](0)) == (1, 3, 2, (0, 4))
    assert [*names["Named"].__annotations__] == ["shared", "name"]
    assert names["Named"].__bases__ == (object,)
    assert not {"TypeVar", "TypeAlias", "TYPE_CHECKING", "ClassVar", "Protocol", "later"} & names.keys()

from tests.affected.choice import choose
from tests.affected.imports import importers, imports_of, module_of

IMPORTERS = {
    "unum_compiler/lowering/lower.py": frozenset(
        {"unum_compiler/compile.py", "tests/unit/compiler/lowering/test_pace.py"}
    ),
    "unum_compiler/compile.py": frozenset({"tests/synth/test_samples.py", "tests/e2e/test_cdk.py"}),
}


def test_nearest_tests_come_first() -> None:
    found = choose(["unum_compiler/lowering/lower.py"], IMPORTERS)
    assert found == ["tests/unit/compiler/lowering/test_pace.py", "tests/synth/test_samples.py"]


def test_changed_tests_precede_tests_of_changed_modules() -> None:
    found = choose(["unum_compiler/compile.py", "tests/unit/compiler/test_waits.py"], IMPORTERS)
    assert found == ["tests/unit/compiler/test_waits.py", "tests/synth/test_samples.py"]


def test_tests_that_deploy_are_left_to_make_test() -> None:
    assert choose(["tests/e2e/test_cdk.py", "docs/asl.md"], IMPORTERS) == []


def test_imports_inside_functions_count() -> None:
    text = "import json\ndef f():\n    from unum_runtime.store import base\n"
    assert imports_of(text) == {"json", "unum_runtime.store", "unum_runtime.store.base"}


def test_module_names_begin_at_their_source_folder() -> None:
    assert module_of("runtime_layer/python/unum_runtime/store/__init__.py") == "unum_runtime.store"
    assert module_of("emulator/src/unum_emulator/cdk.py") == "unum_emulator.cdk"


def test_repository_knows_who_imports_a_module() -> None:
    found = importers(["tests/affected/choice.py", "tests/affected/test_choice.py", "tests/affected/imports.py"])
    assert found["tests/affected/choice.py"] == {"tests/affected/test_choice.py"}

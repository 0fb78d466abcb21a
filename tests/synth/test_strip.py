"""Sources in a layer: same behaviour and line numbers, without docstrings and comments."""

import ast
import io
import tokenize

from tests.synth.machines import chain
from unum_compiler import compile_workflow
from unum_constructs.layer.content import layer_content, runtime_folder
from unum_constructs.layer.features import LayerFacts
from unum_constructs.layer.strip import strip_source

IN_LAYER = compile_workflow(chain("A"), name="Flow", functions=None)


def test_modules_say_the_same_at_the_same_places() -> None:
    for name, source in layer_content(LayerFacts(IN_LAYER), runtime_folder()).items():
        if name.endswith(".py"):
            made = strip_source(source)
            assert said(made) == said(source), name
            assert not [token for token in tokens(made) if token.type == tokenize.COMMENT], name
            assert not [node for node in ast.walk(ast.parse(made)) if is_text(node)], name


def test_what_only_has_a_docstring_keeps_a_body() -> None:
    made = strip_source(b'class Gone(Exception):\n    """Why.\n\n    More.\n    """\n\n\nraise Gone  # noqa\n').decode()
    assert made == "class Gone(Exception):\n    pass\n\n\n\n\n\nraise Gone\n"


def test_texts_that_are_values_and_signs_in_them_stay() -> None:
    source = b'TEXT = """# no comment"""\nOTHER = f("#")\n'
    assert strip_source(source) == source


def said(source: bytes) -> tuple[str, list[tuple[int, int]]]:
    """Return the statements of a module with their places, without docstrings and comments."""
    module = ast.parse(source)
    for node in ast.walk(module):
        if isinstance(body := getattr(node, "body", None), list):
            left = [each for each in body if not is_text(each) and not isinstance(each, ast.Pass)]
            node.body = left  # type: ignore[attr-defined]
    places = [(node.lineno, node.col_offset) for node in ast.walk(module) if isinstance(node, ast.stmt | ast.expr)]
    return ast.dump(module), places


def tokens(source: bytes) -> list[tokenize.TokenInfo]:
    return [*tokenize.generate_tokens(io.StringIO(source.decode()).readline)]


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)

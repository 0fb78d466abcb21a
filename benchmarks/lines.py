"""Lines of the research applications: here, in the Amazon States Language, and in the originals.

    python benchmarks/lines.py [--unum REPOSITORY --sebs REPOSITORY]

It writes the table of docs/research.md. With clones of the originals' repositories it counts them again, and keeps the
counts in benchmarks/originals.json. Lines of Python are those with code: no blank ones, comments and docstrings.
"""

import argparse
import ast
import inspect
import io
import json
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sections import write_section

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from examples.research import graphs  # noqa: E402 - found in the root
from examples.research.applications import ALL, GENOME_BARRIER, Application  # noqa: E402 - the same

ORIGINALS = Path(__file__).parent / "originals.json"
SKIPPED = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
NO_APPLICATION = re.compile(r"/(common|gcloud|tests|manual)/|/(perf|wrapper|faas_invoke_backend|ds|unum)\.py$")
"""Files of an original that are its runtime, another platform's or its experiments."""

REVISIONS = {"unum": "HEAD", "sebs": "feature/workflows"}


class Original(NamedTuple):
    """Place of an original.

    Attributes:
        unum: folder of the version for Unum.
        machine: folder of the version for Step Functions.
    """

    unum: str
    machine: str


UNUM = {
    "hello_world": Original("hello-world/", "step-functions/hello-world/"),
    "hello_bye": Original("hello-bye/unum/", "hello-bye/step-functions/"),
    "relay": Original("pass/unum/", "pass/step-functions/"),
    "chain": Original("chain/unum/", "chain/step-functions/"),
    "fan_out": Original("map/unum/", "map/step-functions/"),
    "parallel_pipeline": Original("parallel-pipeline/unum/", "parallel-pipeline/step-functions/"),
    "image_process": Original("image-process/", "step-functions/image-process/"),
    "iot_pipeline": Original("iot-pipeline/unum/", "iot-pipeline/step-functions/"),
    "text_processing": Original("text-processing/", "step-functions/text-processing/step-functions/"),
    "word_count": Original("wordcount/", "step-functions/wordcount/"),
    "excamera": Original("excamera/unum/", "excamera/step-functions/"),
}
SEBS = {
    "machine_learning": "690.ml",
    "video_analysis": "650.vid",
    "trip_booking": "6200.trip-booking",
    "map_reduce": "660.map-reduce",
    "genome": "6100.1000-genome",
    "function_chain": "620.func-invo",
}

Counts = dict[str, int]
Read = Callable[[str], str]
"""Text of a file of a repository."""


def main() -> None:
    """Count, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unum", type=Path, help="clone of LedgeDash/unum-appstore")
    parser.add_argument("--sebs", type=Path, help="clone of spcl/serverless-benchmarks")
    options = parser.parse_args()
    if options.unum and options.sebs:
        counted = {"unum": count_unum(options.unum), "sebs": count_sebs(options.sebs)}
        ORIGINALS.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")
    write_section("lines", table())


def table() -> str:
    """Return the table in Markdown."""
    originals = json.loads(ORIGINALS.read_text(encoding="utf-8"))
    found = originals["unum"]["applications"] | originals["sebs"]["applications"]
    lines = [
        "| application | graph here | in ASL | configuration there | state machine there | functions here | there |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for each in [*ALL, GENOME_BARRIER]:
        there = found.get(each.name, {})
        definition = [graph_lines(each), asl_lines(each), there.get("configuration"), there.get("machine")]
        functions = [None if each.module != each.name else python_lines(each.source.read_text("utf-8"))]
        cells = [*definition, *functions, there.get("functions")]
        lines.append(f"| {each.name} | " + " | ".join("" if cell is None else str(cell) for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def graph_lines(application: Application) -> int:
    """Return the lines of code of an application's graph."""
    return python_lines(inspect.getsource(getattr(graphs, application.name)))


def asl_lines(application: Application) -> int | None:
    """Return the lines of the same definition as indented JSON; None if the language lacks a field of it."""
    if application.definition.extensions:
        return None
    return len(json.dumps(json.loads(application.definition.text), indent=2).splitlines())


def python_lines(text: str) -> int:
    """Count lines with code."""
    documented = {line for node in ast.walk(ast.parse(text)) for line in _text_alone(node)}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    coded = {line for token in tokens if token.type not in SKIPPED for line in range(token.start[0], token.end[0] + 1)}
    return len(coded - documented)


def _text_alone(node: ast.AST) -> Iterator[int]:
    """Yield the lines of a text that stands alone: a docstring."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def count_unum(repository: Path) -> dict[str, Any]:
    """Count the applications of Unum's store."""
    files, read, commit = _open(repository, REVISIONS["unum"])
    found = {name: _count_unum(place, files, read) for name, place in UNUM.items()}
    return {"repository": "LedgeDash/unum-appstore", "commit": commit, "applications": found}


def _count_unum(place: Original, files: Sequence[str], read: Read) -> Counts:
    own = [file for file in files if file.startswith(place.unum) and not NO_APPLICATION.search(file)]
    configuration = [file for file in own if file.endswith(("unum_config.json", "unum-template.yaml"))]
    if not any(file.endswith("unum_config.json") for file in own):
        configuration += [file for file in own if file.endswith("unum-step-functions.json")]
    functions = [file for file in own if file.endswith(".py")]
    theirs = [file for file in files if file.startswith(place.machine)]
    return {
        "configuration": sum(filled(read(file)) for file in configuration),
        "machine": max(_machine_lines(read(file)) for file in theirs if file.endswith((".json", ".yaml"))),
        "functions": sum(python_lines(read(file).expandtabs()) for file in functions),
    }


def count_sebs(repository: Path) -> dict[str, Any]:
    """Count six workflows of SeBS-Flow."""
    files, read, commit = _open(repository, REVISIONS["sebs"])
    found = {}
    for name, folder in SEBS.items():
        place = f"benchmarks/600.workflows/{folder}/"
        functions = [file for file in files if file.startswith(f"{place}python/") and file.endswith(".py")]
        found[name] = {
            "configuration": filled(read(f"{place}definition.json")),
            "functions": sum(python_lines(read(file)) for file in functions),
        }
    return {"repository": "spcl/serverless-benchmarks", "commit": commit, "applications": found}


def filled(text: str) -> int:
    """Count lines that are neither blank nor comments."""
    return sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in text.splitlines())


def _machine_lines(text: str) -> int:
    """Count the lines of the state machine in a file; 0 without one. Templates contain it, indented."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    start = next((number for number, line in enumerate(lines) if "StartAt" in line), None)
    if start is None:
        return 0
    first = max(number for number in range(start + 1) if lines[number].startswith("{"))
    depth = 0
    for number, line in enumerate(lines[first:], start=1):
        depth += line.count("{") - line.count("}")
        if depth == 0:
            return number
    raise ValueError("a state machine without an end")


def _open(repository: Path, revision: str) -> tuple[Sequence[str], Read, str]:
    """Return the files of a revision, a function that reads one, and the commit."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(repository), *arguments]
        return subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout  # noqa: S603 - as named

    files = git("ls-tree", "-r", "--name-only", revision).splitlines()
    return files, lambda file: git("show", f"{revision}:{file}"), git("rev-parse", revision).strip()


if __name__ == "__main__":
    main()

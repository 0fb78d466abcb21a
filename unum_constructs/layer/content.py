"""Content of layers for one version of Python: a pure function of definitions and runtime.

Functions cannot store compiled modules. The layer therefore contains bytecode, if this machine has the functions'
Python; otherwise it contains sources, which behave the same and are compiled in each cold start.
"""

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from unum_constructs.layer.strip import strip_source
from unum_runtime.cold_start.bundle import SUFFIX, bundled
from unum_runtime.functions.configuration import OPENTELEMETRY, XRAY
from unum_runtime.model.ir import Workflow
from unum_runtime.model.naming import WORKFLOWS_FOLDER
from unum_runtime.model.states import READ_ITEMS, SIGNAL, WRITE_RESULTS, FanOut, Language

PACKAGE = "unum_runtime"

LEFT_OUT = frozenset({"__pycache__", "former_names.py", "memory.py"})
"""Folders and modules that no Lambda function needs."""

_CONTROL = (
    *("control_requests.py", "function_versions.py", "timeline.py", "pending.py", "overdue.py", "list_entries.py"),
    *("failure_function.py", "dead_letters.py", "foreign_events.py", "intake.py", "failure_queue.py"),
    *("refused_places.py", "control.py", "control_function.py", "execution_versions.py"),
    *("platform_failure.py", "hand_over.py", "take_over.py", "remote_intake.py", "throttled_events.py", "throttles.py"),
    *("deployment_guard.py", "refused_removal.py", "delays.py", "called_functions.py"),
    *("past.py", "cursor_keys.py", "definition_object.py", "caller.py", "describe.py", "describe_function.py"),
)
"""Modules of failure handler and control function, and those that other functions load only after a deployment took an
edge."""

_RARE = (
    *("function_url.py", "schedules.py", "undelivered.py", "refused_messages.py", "waiter.py", "erasure.py"),
    *("object_links.py", "attributes.py", "start_facts.py"),
    *("existing_start.py", "deletion.py", "deletion_marks.py"),
)
"""Modules for long waits, for what cannot be delivered, for answers over HTTP, for large inputs, for attributes,
for repeated starts, and for deletions."""

_BUCKET_STORE = ("additions.py", "conditional.py", "s3.py", "s3_names.py")
"""Modules for state in a bucket."""

_BUCKET_MODULES = frozenset(f"store/{each}" for each in _BUCKET_STORE)

SOURCES_ALONE = frozenset({"services", "items", "service_function.py", "control", *_CONTROL, *_RARE, *_BUCKET_STORE})
"""Folders and modules that stay sources: sources are smaller, and these modules load botocore, which takes longer
anyway."""

JSONATA = "jsonata-python"
"""Distribution that evaluates JSONata; only layers of workflows with JSONata contain it."""

_FINDERS = frozenset(
    f"python/{PACKAGE}/{module}" for module in ("__init__.py", "cold_start/__init__.py", "cold_start/bundle.py")
)
"""Modules that find the others in a bundle."""

_DIGEST_DIGITS = 16
"""Digits of a digest in a bundle's name."""

_LANGUAGE_MODULES = {Language.JSONPATH: "asl/jsonpath", Language.JSONATA: "asl/jsonata"}
_INTRINSIC_MODULES = ("asl/jsonpath/intrinsics",)
_SERVICE_MODULES = (
    "aws/services",
    "aws/activities.py",
    "functions/service_function.py",
    "service_function.py",
)

_REGION_MODULES = ("model/region.py", "protocol/planning/region.py", "protocol/fanout/arrivals.py")
_WAVEFRONT_MODULES = ("protocol/planning/wavefront.py", "protocol/fanout/previous_results.py")
_MEMO_MODULES = ("protocol/control/sharing/remembered.py", "protocol/control/sharing/calling.py")
_SIGNAL_MODULES = (
    "model/mailbox.py",
    "protocol/waiting/signal_slots.py",
    "protocol/waiting/signal_wait.py",
    "protocol/waiting/listeners.py",
    "protocol/control/signal.py",
    "protocol/control/signal_by_key.py",
    "protocol/control/mailboxes.py",
)

_TRACING = "functions/tracing"
_TRACE_MODULES: Mapping[str, tuple[str, ...]] = {
    OPENTELEMETRY: (
        *("model/span_ids.py", "model/otlp_json.py"),
        *(f"{_TRACING}/otel_spans.py", f"{_TRACING}/otlp_exporter.py"),
    ),
    XRAY: (f"{_TRACING}/xray_segments.py",),
}
_ALL_TRACES = (f"{_TRACING}/__init__.py", f"{_TRACING}/traced.py")
"""Modules that functions load for traces of user code: for one kind, and for each."""

_EVENT_MODULES = (
    "aws/event_bus.py",
    "protocol/control/events",
    "protocol/delivery/status_events.py",
)

_MODULES_OF_RESOURCES: Mapping[str, tuple[str, ...]] = {
    "aws/items": (READ_ITEMS, WRITE_RESULTS),
    "aws/services/kubernetes.py": ("eks:call", "eks:runJob"),
    "aws/services/kubernetes_jobs.py": ("eks:runJob",),
}
"""Modules that the service function loads for Tasks with certain resources alone."""

_INTRINSIC = re.compile(r"States\.\w+\(")
"""Call of an intrinsic function. Source: Amazon States Language, "Intrinsic Functions"."""

MOUNTED_AT = "/opt"
"""Folder of layers in a function. Source: AWS Lambda Developer Guide, "Packaging your layer content"."""

Content: TypeAlias = Mapping[str, bytes]
"""Files of a layer: content by path, with slashes, in order."""


def runtime_folder() -> Path:
    """Return the folder of the package `unum_runtime`, without importing it."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"{PACKAGE} is not installed as a folder of files; install the wheel unum-runtime")
    return Path(spec.submodule_search_locations[0])


def layer_content(
    workflow: Workflow, runtime: Path, *, in_bucket: bool = False, traces: Collection[str] = ()
) -> Content:
    """Return all that layers can give to a function of `workflow`, as sources: runtime and definition.

    Args:
        workflow: compiled workflow.
        runtime: folder of the package `unum_runtime`.
        in_bucket: True if the state is in a bucket.
        traces: kinds of traces of user code.
    """
    files = runtime_content(unused_modules(workflow, in_bucket=in_bucket, traces=traces), runtime)
    return dict(sorted({**files, **definition_content(workflow)}.items()))


def definition_content(workflow: Workflow) -> Content:
    """Return the file with the definition of `workflow`."""
    return {f"python/{WORKFLOWS_FOLDER}/{workflow.name}.json": workflow.to_json().encode()}


def runtime_content(unused: Collection[str], runtime: Path) -> Content:
    """Return the modules of the runtime as sources.

    Args:
        unused: folders and modules to leave out; see `unused_modules`.
        runtime: folder of the package `unum_runtime`.
    """
    left_out = {*map(PurePosixPath, unused)}
    modules = ((path, file) for path, file in _modules(runtime) if left_out.isdisjoint((path, *path.parents)))
    files = {f"python/{PACKAGE}/{path}": _text(file) for path, file in modules}
    if _LANGUAGE_MODULES[Language.JSONATA] not in unused:
        files |= {f"python/{path}": content for path, content in _jsonata()}
    return dict(sorted(files.items()))


def unused_modules(
    workflow: Workflow, *, in_bucket: bool = False, traces: Collection[str] = (), events: bool = False
) -> frozenset[str]:
    """Return folders and modules that no function of `workflow` loads.

    Several workflows together leave out what all of them leave out: the intersection.

    Args:
        workflow: compiled workflow.
        in_bucket: True if the state is in a bucket.
        traces: kinds of traces of user code.
        events: True if it has status events.
    """
    untraced = {module for kind, modules in _TRACE_MODULES.items() if kind not in traces for module in modules}
    every = frozenset(_unused(workflow)) | untraced | {*(() if traces else _ALL_TRACES)}
    return every | {*(() if in_bucket else _BUCKET_MODULES), *(() if events else _EVENT_MODULES)}


def compilable_modules(content: Content) -> Content:
    """Return modules in `content` that load faster as bytecode, by path inside functions."""
    paths = {path: PurePosixPath(path) for path in content}
    faster = (
        path for path, parsed in paths.items() if parsed.suffix == ".py" and SOURCES_ALONE.isdisjoint(parsed.parts)
    )
    return {f"{MOUNTED_AT}/{path}": content[path] for path in faster}


def deployed_files(content: Content, bytecode: Content) -> Content:
    """Return `content` with `bytecode`, by the paths of `compilable_modules`, in place of the sources.

    With bytecode, all modules are in one file, except those that find the others there.
    """
    sources = {path: data for path, data in content.items() if path.endswith(".py") and path not in _FINDERS}
    files = {path: _deployed_file(path, data, bytecode.get(f"{MOUNTED_AT}/{path}")) for path, data in content.items()}
    if not bytecode:
        return dict(files.values())
    # A function of two workflows has both layers in one folder: equal bundles coincide, others need two names.
    bundle = f"python/{PACKAGE}/{digest(sources, '')[:_DIGEST_DIGITS]}{SUFFIX}"
    modules = dict(files.pop(path) for path in sources)
    return {**dict(files.values()), bundle: bundled({path.removeprefix("python/"): modules[path] for path in modules})}


def digest(files: Content, python: str) -> str:
    """Return SHA-256 over the runtime's name, and paths and bytes of `files`, without times, modes, or folder order.

    Args:
        files: all that is deployed, so that nothing else can be deployed under the same digest.
        python: runtime of the functions, such as ``python3.13``.
    """
    seen = hashlib.sha256(f"{python}\0".encode())
    for path, data in sorted(files.items()):
        # The length separates path and content: concatenations of other files cannot be equal.
        seen.update(f"{path}\0{len(data)}\0".encode() + data)
    return seen.hexdigest()


def _languages(workflow: Workflow) -> frozenset[Language]:
    return frozenset(state.language for state in workflow.states.values())


def _unused(workflow: Workflow) -> Iterator[str]:
    """Yield folders and modules that no function of `workflow` loads."""
    yield from (_LANGUAGE_MODULES[each] for each in Language if each not in _languages(workflow))
    if not _INTRINSIC.search(workflow.to_json()):
        yield from _INTRINSIC_MODULES
    if all(task.resource is None for task in workflow.tasks):
        yield from _SERVICE_MODULES
    if not any(isinstance(state, FanOut) and state.needs for state in workflow.states.values()):
        yield from _REGION_MODULES
    if not workflow.feeds:
        yield from _WAVEFRONT_MODULES
    if not any(task.memoize for task in workflow.tasks):
        yield from _MEMO_MODULES
    if not any((task.resource or "").startswith(SIGNAL) for task in workflow.tasks):
        yield from _SIGNAL_MODULES
    called = {task.resource for task in workflow.tasks}
    yield from (modules for modules, resources in _MODULES_OF_RESOURCES.items() if called.isdisjoint(resources))


def _modules(runtime: Path) -> Iterator[tuple[PurePosixPath, Path]]:
    for file in runtime.rglob("*.py"):
        path = file.relative_to(runtime)
        if LEFT_OUT.isdisjoint(path.parts):
            yield PurePosixPath(path.as_posix()), file


def _jsonata() -> Iterator[tuple[str, bytes]]:
    """Yield the JSONata package without its command line, and its licence.

    Raises:
        PackageNotFoundError: it is not installed; the compiler has reported that before.
    """
    installed = distribution(JSONATA)
    for path in installed.files or ():
        is_module = path.suffix == ".py" and path.parts[0] == "jsonata" and "cli" not in path.parts
        if is_module or path.name.startswith("LICENSE"):
            yield path.as_posix(), _text(Path(str(installed.locate_file(path))))


def _deployed_file(path: str, data: bytes, bytecode: bytes | None) -> tuple[str, bytes]:
    """Return path and content of a file.

    Source: Python documentation of importlib, "SourcelessFileLoader"; PEP 3147, "Case 4: legacy pyc files".
    """
    if bytecode is not None:
        return f"{path}c", bytecode
    is_ours = path.endswith(".py") and PACKAGE in PurePosixPath(path).parts  # JSONata stays as published
    return path, _strip_source(data) if is_ours else data


_strip_source = cache(strip_source)


def _text(file: Path) -> bytes:
    # Git may check out CRLF on Windows; the digest must not depend on that.
    return file.read_bytes().replace(b"\r\n", b"\n")

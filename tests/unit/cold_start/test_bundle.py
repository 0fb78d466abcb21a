"""Modules in one bundle load like modules in files."""

import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from unum_constructs.layer import bytecode
from unum_runtime.cold_start import bundle
from unum_runtime.cold_start.bundle import bundled

FILES = {
    "package/inner/__init__.py": b"",
    "package/inner/source.py": b"from package.other import VALUE\n\n\ndef fail():\n    raise ValueError(VALUE)\n",
    "package/other.pyc": bytecode.compile_source(b"VALUE = 1\n", "/far/package/other.py"),
}


def ran(folder: Path, code: str, **bundles: bytes) -> subprocess.CompletedProcess[str]:
    """Return the output of `code` with a package `package` that has these bundles."""
    (folder / "package").mkdir()
    finder = Path(bundle.__file__).read_text()
    (folder / "package" / "__init__.py").write_text(f"{finder}\nfind_beside(__path__[0])\n")
    for name, data in bundles.items():
        (folder / "package" / f"{name}.bundle").write_bytes(data)
    return subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603


def test_sources_and_bytecode_are_loaded(tmp_path: Path) -> None:
    code = "from package.inner.source import VALUE; import package.other as o; print(VALUE, o.__spec__.origin)"
    assert ran(tmp_path, code, one=bundled(FILES)).stdout == f"1 {tmp_path / 'package' / 'other.pyc'}\n"


def test_modules_may_be_in_several(tmp_path: Path) -> None:
    halves = [bundled({path: FILES[path] for path in paths}) for paths in ([*FILES][:2], [*FILES][1:])]
    code = "from package.inner.source import VALUE; print(VALUE)"
    assert ran(tmp_path, code, one=halves[0], two=halves[1]).stdout == "1\n"


def test_what_is_nowhere_is_not_found(tmp_path: Path) -> None:
    code = "import package.inner.none"
    assert "ModuleNotFoundError: No module named 'package.inner.none'" in ran(tmp_path, code, one=bundled(FILES)).stderr


def test_tracebacks_show_the_lines_of_sources(tmp_path: Path) -> None:
    code = "from package.inner.source import fail\ntry: fail()\nexcept ValueError: print_exc()"
    code = f"from traceback import print_exc; {code}"
    failed = ran(tmp_path, code, one=bundled(FILES)).stderr
    place = tmp_path / "package" / "inner" / "source.py"
    assert f'File "{place}", line 5, in fail\n    raise ValueError(VALUE)\n' in failed


def test_bytecode_of_another_python_is_refused(tmp_path: Path) -> None:
    """Loading it could end the process."""
    other = bundled({"package/other.pyc": b"\0\0\r\n" + FILES["package/other.pyc"][4:]})
    assert "ImportError: bad magic number in 'package.other'" in ran(tmp_path, "import package.other", one=other).stderr


def test_files_of_a_folder_come_first(tmp_path: Path) -> None:
    code = "import pathlib, package; pathlib.Path('package/other.py').write_text('VALUE = 2')"
    code += "; from package.other import VALUE; print(VALUE)"
    assert ran(tmp_path, code, one=bundled(FILES)).stdout == "2\n"


@pytest.mark.parametrize("files", [{}, {"package/inner/__init__.py": b""}])
def test_any_number_of_modules(files: dict[str, bytes], tmp_path: Path) -> None:
    found = ran(tmp_path, "import package.inner", one=bundled(files)).returncode == 0
    assert found == bool(files)


def test_a_package_may_be_in_an_archive_itself(tmp_path: Path) -> None:
    assert ran(tmp_path, "import package").returncode == 0
    archive = Path(shutil.make_archive(str(tmp_path / "all"), "zip", tmp_path, "package"))
    code = f"import sys; sys.path.insert(0, {str(archive)!r}); import package; print(package.__file__)"
    done = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.startswith(f"{archive}/")


def test_a_loader_has_its_own_file_alone(tmp_path: Path) -> None:
    (tmp_path / "one.bundle").write_bytes(bundled(FILES))
    spec = bundle.Bundle(str(tmp_path), "one.bundle").find_spec("package.inner.source")
    assert spec is not None
    assert isinstance(spec.loader, SourceFileLoader)
    assert spec.loader.get_data(str(spec.origin)) == FILES["package/inner/source.py"]
    with pytest.raises(FileNotFoundError):
        spec.loader.get_data(f"{spec.origin}c")

"""A bundle: the modules of a layer in one file, and how Python finds them in it.

A cold start opens one file in place of a hundred, and what modules have in common is compressed together. `zipimport`
does the same for archives, but takes longer than all those files do.

The file begins with the size of its index, four bytes, and the index: JSON, by the module's name what its file was
called, and where in the rest its content begins and ends.
"""

import json
import os
import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader, SourcelessFileLoader

SUFFIX = ".bundle"

_SIZE_BYTES = 4


def bundled(files: Mapping[str, bytes]) -> bytes:
    """A bundle of `files`, sources and bytecode, by their paths in a folder that Python would search."""
    index, end = {}, 0
    for path, data in files.items():
        index[_name(path)] = path, end, end + len(data)
        end += len(data)
    head = json.dumps(index, separators=(",", ":")).encode()
    return len(head).to_bytes(_SIZE_BYTES, "big") + head + b"".join(files.values())


def find_beside(package: str) -> None:
    """Have Python find the modules in bundles in the folder `package`, where it finds no others.

    Layers of several workflows may each have brought one.
    """
    try:
        names = sorted(os.listdir(package))  # noqa: PTH208 - as below
    except OSError:  # it is in an archive itself
        return
    sys.meta_path += [Bundle(package, name) for name in names if name.endswith(SUFFIX)]


class Bundle:
    """A finder for ``sys.meta_path``.

    Args:
        package: the folder of the package that it is in; its modules would be there, and beside that.
        name: of the file.
    """

    def __init__(self, package: str, name: str) -> None:
        self._folder = package.rpartition("/")[0]
        with open(f"{package}/{name}", "rb") as file:  # noqa: PTH123 - 6 ms of import
            data = memoryview(file.read())
        end = _SIZE_BYTES + int.from_bytes(data[:_SIZE_BYTES], "big")
        self._index, self._modules = json.loads(bytes(data[_SIZE_BYTES:end])), data[end:]

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        """Where module `name` is, if it is here; Python calls this."""
        if name not in self._index:
            return None
        path, first, end = self._index[name]
        kind = _Source if path.endswith(".py") else _Bytecode
        loader = kind(name, f"{self._folder}/{path}", self._modules[first:end])
        return ModuleSpec(name, loader, origin=loader.path, is_package=loader.is_package(name))


class _InBundle:
    """A loader that has the content of its file."""

    def __init__(self, name: str, path: str, data: memoryview) -> None:
        super().__init__(name, path)  # type: ignore[call-arg]
        self._data = data

    def get_data(self, path: str) -> bytes:
        if path != self.path:  # type: ignore[attr-defined]
            raise FileNotFoundError(path)
        return bytes(self._data)


class _Source(_InBundle, SourceFileLoader):  # type: ignore[misc]  # so do its own bases
    pass


class _Bytecode(_InBundle, SourcelessFileLoader):
    pass


def _name(path: str) -> str:
    """The module that a file is."""
    return path.rpartition(".")[0].removesuffix("/__init__").replace("/", ".")

"""Import modules by their former names.

A program that imports a module by a name that it had before gets the module that has its content now, as the same
object under both names.
"""

import importlib
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

TYPE_CHECKING = False  # a checker takes it for True; `typing` takes long to load
if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:  # `importlib.abc` loads thirty modules for two empty classes, before each command of a client
    Loader, MetaPathFinder = type("Loader", (), {}), type("MetaPathFinder", (), {})

MOVED_PACKAGES = {
    "unum_runtime.client": "unum_client",
    "unum_runtime.gcp": "unum_google",
    "unum_runtime.simulator": "unum_simulator",
    "unum_runtime.store.cosmos": "unum_azure.cosmos",
    "unum_runtime.store.firestore": "unum_google.firestore",
}
"""Packages that are distributions of their own now, by their names inside of `unum_runtime`."""


def parse_names(table: str) -> dict[str, str]:
    """Return the current name of each moved module by its old name.

    Args:
        table: a line for an old and a current package, with their modules: ``old.package new.package: module old=new``.
            A dot stands for no package.
    """
    names = {}
    for line in table.strip().splitlines():
        packages, _, modules = line.partition(": ")
        package, current = packages.split()
        for module in modules.split():
            old, _, new = module.partition("=")
            names[f"{package}.{old}"] = f"{current}.{new or old}".lstrip(".")
    return names


def redirect(names: Mapping[str, str]) -> None:
    """Make imports of old module names return the modules that replaced them.

    Args:
        names: the current module name by its old name, both absolute; no old name may still exist.
    """
    # First, because a package that moved leads Python to files of the current one, which it would load a second time.
    sys.meta_path.insert(0, _FormerNames(names))


def redirect_packages() -> None:
    """Make imports of packages that left `unum_runtime` return those of their distributions."""
    # First, for the reason above; finders of single modules come later, and so before it.
    sys.meta_path.insert(0, _FormerPackages())


class _FormerNames(MetaPathFinder, Loader):
    def __init__(self, names: Mapping[str, str]) -> None:
        # A package that is gone as a whole is imported, as an empty module, before its modules are.
        self._packages = {old.rpartition(".")[0] for old in names}
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for an old name; Python calls this."""
        del path, target
        if fullname in self._names or fullname in self._packages:
            return ModuleSpec(fullname, self, is_package=fullname in self._packages)
        return None

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create an empty module; `exec_module` replaces it."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module by the current one, which is what the import then returns."""
        if module.__name__ in self._names:
            sys.modules[module.__name__] = importlib.import_module(self._names[module.__name__])


class _FormerPackages(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec for a package that moved, or a module in it; Python calls this."""
        del path, target
        return ModuleSpec(fullname, self) if _current_name(fullname) else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create an empty module; `exec_module` replaces it."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the empty module by the current one.

        Raises:
            ModuleNotFoundError: the distribution is not installed, or has no such module.
        """
        current = _current_name(module.__name__)
        package = current.partition(".")[0]
        try:
            sys.modules[module.__name__] = importlib.import_module(current)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            distribution = package.replace("_", "-")
            raise ModuleNotFoundError(
                f"{module.__name__} is now {current}, in the distribution {distribution}: pip install {distribution}",
                name=package,
            ) from None


def _current_name(name: str) -> str:
    """Return the name of a module that moved with its package; "" for any other module."""
    for old, current in MOVED_PACKAGES.items():
        if name == old or name.startswith(f"{old}."):
            return current + name.removeprefix(old)
    return ""

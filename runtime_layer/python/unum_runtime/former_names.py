"""Import packages by their former names, as the same objects under both names.

Only names that the documentation has shown are here.
"""

import importlib
import sys
from collections.abc import Sequence
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


def redirect_packages() -> None:
    """Make imports of packages that left `unum_runtime` return those of their distributions."""
    # First: Python's own finder would load modules of a moved package a second time, from that package's path.
    sys.meta_path.insert(0, _FormerPackages())


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

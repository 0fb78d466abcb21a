"""Workflows as Python expressions, under their public name; see `unum_compiler.graph`."""

from unum_compiler.graph import *  # noqa: F403 - the same names, `__all__` included
from unum_compiler.graph import __all__  # noqa: F401 - what `import *` of this module gives, too

"""Runtime of workflows that orchestrate themselves, for Lambda functions."""

from unum_runtime.cold_start.bundle import find_beside

if "former_names.py" in find_beside(__path__[0]):  # layers have none
    from unum_runtime.former_names import redirect_packages

    redirect_packages()

"""Option for the outputs of a workflow's stack."""

from enum import StrEnum


class Outputs(StrEnum):
    """Outputs of a workflow's stack, beside those that `exported` needs."""

    ONE = "one"
    """One output with all addresses as JSON, ``<construct>Workflow``, by which the command line finds the workflow."""

    ALL = "all"
    """An output for each address, for programs that read them."""

    NONE = "none"
    """No output: the command line needs the addresses as options."""

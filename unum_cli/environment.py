"""Defaults of the command line from environment variables: ``UNUM_STACK`` and ``UNUM_WORKFLOW``."""

import argparse
from collections.abc import Mapping

_ADDRESSES = ("table", "start_alias", "control_alias", "payload_bucket", "queue_url")
"""Options that name a workflow without its stack."""


def add_defaults(options: argparse.Namespace, environment: Mapping[str, str]) -> None:
    """Set ``--stack`` and ``--workflow`` from `environment`, unless the command line names what it is about itself."""
    if "stack" not in options or _is_about_files(options):
        return
    if all(getattr(options, name, None) is None for name in _ADDRESSES):
        options.stack = options.stack or environment.get("UNUM_STACK") or None
    options.workflow = options.workflow or environment.get("UNUM_WORKFLOW") or None


def _is_about_files(options: argparse.Namespace) -> bool:
    """Return True for a picture or a comparison of definitions in files alone."""
    given = {"graph": "file", "diff": "old"}.get(options.command)
    return given is not None and getattr(options, given) is not None

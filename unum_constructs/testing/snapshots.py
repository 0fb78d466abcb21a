"""Snapshots of templates, by syrupy: install ``unum-constructs[testing]``."""

from typing import Any

from syrupy.extensions.json import JSONSnapshotExtension

from unum_constructs.testing.normalization import normalize_template


class TemplateSnapshotExtension(JSONSnapshotExtension):
    """Serializes an `aws_cdk.assertions.Template`, or a template as JSON, in the form that `normalize_template` gives.

    Use it by ``snapshot.use_extension(TemplateSnapshotExtension)``. A snapshot is a file of JSON of its own.
    """

    def serialize(self, data: Any, **options: Any) -> str | bytes:
        """`data` as text."""
        return super().serialize(normalize_template(data), **options)

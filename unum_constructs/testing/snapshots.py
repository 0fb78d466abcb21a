"""Snapshots of templates with syrupy; install ``unum-constructs[testing]``."""

from typing import Any

from syrupy.extensions.json import JSONSnapshotExtension

from unum_constructs.testing.normalization import normalize_template


class TemplateSnapshotExtension(JSONSnapshotExtension):
    """Snapshot serializer for templates, normalized by `normalize_template`.

    It accepts an `aws_cdk.assertions.Template`, or a template as JSON. Use it with
    ``snapshot.use_extension(TemplateSnapshotExtension)``; each snapshot is a JSON file.
    """

    def serialize(self, data: Any, **options: Any) -> str | bytes:
        """Return `data` as text."""
        return super().serialize(normalize_template(data), **options)

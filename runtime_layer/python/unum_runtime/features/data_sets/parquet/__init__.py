"""Rows of Parquet files as JSON, with the standard library alone.

Source: Apache Parquet, "File Format" and "Parquet Logical Types". The Developer Guide, "ItemReader (Map)", documents no
form of a row. Only layers of workflows with data sets contain this package.
"""

from unum_runtime.features.data_sets.parquet.file import rows

__all__ = ["rows"]

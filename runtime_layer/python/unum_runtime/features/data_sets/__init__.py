"""Data sets of distributed Maps in S3: items for an ItemReader, results of a ResultWriter.

Only the workflow's service function imports this package. Source: AWS Step Functions Developer Guide, "ItemReader
(Map)" and "ResultWriter (Map)".
"""

from unum_runtime.features.data_sets.read import read
from unum_runtime.features.data_sets.write import write

__all__ = ["read", "write"]

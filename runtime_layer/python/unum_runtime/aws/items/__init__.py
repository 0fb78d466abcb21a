"""The data sets of distributed Maps in S3: items that an ItemReader reads, and results that a ResultWriter writes.

It is imported only in the function that a workflow provisions for its service Tasks. Source: AWS Step Functions
Developer Guide, "ItemReader (Map)" and "ResultWriter (Map)".
"""

from unum_runtime.aws.items.read import read
from unum_runtime.aws.items.write import write

__all__ = ["read", "write"]

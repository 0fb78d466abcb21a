"""Settings and fixtures of all tests.

Properties are tried on the same examples every time, unless others are asked for, as by `make simulate`.
"""

import os
from collections.abc import Iterator
from functools import cache

import botocore.session
import pytest
from hypothesis import settings

# Compiling the CDK's validator of templates costs each process 5 s. cfn-lint checks the templates, and
# `test_the_readme_synthesizes` lets the validator check one. The CDK's process inherits this when it starts.
os.environ.setdefault("CDK_VALIDATION", "false")

settings.register_profile("same", deadline=None, derandomize=True)  # how long one takes is the machine's matter
settings.register_profile("others", deadline=None, max_examples=1_000)
settings.load_profile("same")


@pytest.fixture(scope="session", autouse=True)
def models_are_read_once() -> Iterator[None]:
    """All sessions of botocore share what it reads of services, as the clients of one do; else that is half the time.

    What is read are megabytes of JSON that say what services there are, and nobody changes that.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(botocore.session, "create_loader", cache(botocore.session.create_loader))
        yield

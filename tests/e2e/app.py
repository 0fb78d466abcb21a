"""The app that the end-to-end tests deploy: every example, and the probes.

With ``UNUM_STORE=s3``, the examples and some probes have their state in S3: `make e2e-s3` runs their tests so.
``UNUM_STACKS`` names the stacks that some tests need, to spare the others.
"""

import os
from typing import Any

import aws_cdk as cdk

from examples.existing_app.stack import ExistingApp
from examples.iot_pipeline.stack import IotPipeline
from examples.research.stack import STACKS as RESEARCH
from examples.text_processing.stack import TextProcessing
from examples.word_count.stack import WordCount
from tests.e2e.attacks.stack import Attacks
from tests.e2e.callbacks.stack import Callbacks
from tests.e2e.called.stack import Called
from tests.e2e.chaos.stack import Chaos
from tests.e2e.control.stack import Control
from tests.e2e.endurance.stack import Endurance
from tests.e2e.failures.stack import Failures
from tests.e2e.guards.stack import Guards
from tests.e2e.language.stack import Language
from tests.e2e.named.stack import Named
from tests.e2e.nested.stack import Nested
from tests.e2e.outside.stack import Outside
from tests.e2e.placed.stack import Keyed, Parted, Shared, Sharing
from tests.e2e.probes.stack import Probes
from tests.e2e.python import as_the_emulator
from tests.e2e.shown.stack import Shown
from tests.e2e.together.stack import Together
from unum_constructs import Store

IN_BUCKETS = (TextProcessing, IotPipeline, WordCount, ExistingApp, *RESEARCH, Control, Callbacks, Guards, Nested)
"""Stacks that are tested with their state in S3 as well."""

IN_TABLES = (
    *(Probes, Chaos, Language, Failures, Called, Endurance),
    *(Keyed, Parted, Attacks, Named, Outside, Shown, Together),
)


def use_buckets() -> None:
    """Give every workflow without a store of its own a bucket."""
    in_table: Any = Store.dynamodb

    def dynamodb(**options: Any) -> Store:
        store: Store = in_table(**options) if options else Store.s3()
        return store

    Store.dynamodb = dynamodb  # no stack calls it otherwise


as_the_emulator()
are_in_buckets = os.environ.get("UNUM_STORE") == "s3"
if are_in_buckets:
    use_buckets()
# The emulator enforces IAM here, and refuses the bootstrap's roles, because it is not reached by TLS.
app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
chosen = os.environ.get("UNUM_STACKS", "").split()
for stack in (*IN_BUCKETS, *(() if are_in_buckets else IN_TABLES)):
    if not chosen or stack.__name__ in chosen:
        stack(app, stack.__name__)
if not are_in_buckets and not chosen:
    shared = Shared(app, "Shared")
    for name in ("SharingFirst", "SharingSecond"):
        Sharing(app, name, shared)
app.synth()

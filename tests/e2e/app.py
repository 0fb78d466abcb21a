"""The app that the end-to-end tests deploy: every example, and the probes."""

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
from tests.e2e.nested.stack import Nested
from tests.e2e.placed.stack import Keyed, Parted
from tests.e2e.probes.stack import Probes
from tests.e2e.python import as_the_emulator

as_the_emulator()
# The emulator enforces IAM here, and refuses the bootstrap's roles, because it is not reached by TLS.
app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
for stack in (
    TextProcessing,
    IotPipeline,
    WordCount,
    ExistingApp,
    *RESEARCH,
    Probes,
    Chaos,
    Guards,
    Language,
    Failures,
    Callbacks,
    Called,
    Nested,
    Control,
    Endurance,
    Keyed,
    Parted,
    Attacks,
):
    stack(app, stack.__name__)
app.synth()

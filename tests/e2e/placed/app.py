"""The app of `tests.e2e.test_placed`: all under one key, and functions in a nested stack."""

import aws_cdk as cdk

from tests.e2e.placed.stack import Keyed, Parted
from tests.e2e.python import as_the_emulator

as_the_emulator()
app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
Keyed(app, "Keyed")
Parted(app, "Parted")
app.synth()

"""The app of a chaos run of its own."""

import aws_cdk as cdk

from tests.e2e.chaos.stack import Chaos
from tests.e2e.python import as_the_emulator

as_the_emulator()
app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
Chaos(app, "Chaos")
app.synth()

"""The app of a chaos run of its own; the argument ``s3`` keeps the state of the main workflow and its child in S3."""

import sys

import aws_cdk as cdk

from tests.e2e.chaos.stack import Chaos
from tests.e2e.python import as_the_emulator

as_the_emulator()
app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
Chaos(app, "Chaos", in_bucket=sys.argv[1:] == ["s3"])
app.synth()

"""Stack of `wavefront.py`, for the emulator: ExCamera, twice."""

import sys
from pathlib import Path

import aws_cdk as cdk

sys.path.insert(0, str(Path(__file__).parents[1]))

from examples.research.stack import ExcameraApplications

# This synthesizer needs no bootstrap roles in the emulator.
app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
ExcameraApplications(app, ExcameraApplications.__name__)
app.synth()

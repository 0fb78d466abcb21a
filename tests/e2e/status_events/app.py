"""The app of `tests.e2e.test_status_events`."""

import aws_cdk as cdk

from tests.e2e.python import as_the_emulator
from tests.e2e.status_events.stack import Told

if __name__ == "__main__":
    as_the_emulator()
    app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
    Told(app, "Told")
    app.synth()

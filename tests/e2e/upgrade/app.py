"""The app whose stack every release leaves behind, as the tree of now makes it: ``-c definition=N -c code=N``."""

import aws_cdk as cdk

from tests.e2e.python import as_the_emulator
from tests.e2e.upgrade.stack import Upgrade

as_the_emulator()
app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
Upgrade(app, "Upgrade", **{each: int(app.node.get_context(each)) for each in ("definition", "code")})
app.synth()

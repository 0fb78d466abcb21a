"""The app whose stack every release leaves behind, as the tree of now makes it: ``-c definition=N -c code=N``."""

import aws_cdk as cdk

from tests.e2e.python import as_the_emulator
from tests.e2e.versions.stack import Versions

as_the_emulator()
app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
numbers = {each: int(app.node.get_context(each)) for each in ("definition", "code")}
Versions(app, "Upgrade", former_clients=True, **numbers)  # type: ignore[arg-type]  # versions by name
app.synth()

"""The app of one deployment: ``-c definition=N -c code=N`` say which."""

import aws_cdk as cdk

from tests.e2e.versions.stack import Versions

app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
numbers = {each: int(app.node.get_context(each)) for each in ("definition", "code")}
Versions(app, "Versions", **numbers)
Versions(app, "Apart", places=[cdk.Stack(app, f"{name}Functions") for name in ("First", "Second")], **numbers)
app.synth()

"""The app of one deployment: ``-c definition=N -c code=N`` say which."""

import aws_cdk as cdk

from tests.e2e.versions.stack import Versions

app = cdk.App(default_stack_synthesizer=cdk.CliCredentialsStackSynthesizer())
Versions(
    app,
    "Versions",
    definition=int(app.node.get_context("definition")),
    code=int(app.node.get_context("code")),
)
app.synth()

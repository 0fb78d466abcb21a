"""CDK app with the research applications."""

from aws_cdk import App

from examples.research.stack import STACKS

app = App()
for stack in STACKS:
    stack(app, stack.__name__)
app.synth()

"""CDK app with the example stacks."""

from aws_cdk import App

from examples.existing_app.stack import ExistingApp
from examples.iot_pipeline.stack import IotPipeline
from examples.text_processing.stack import TextProcessing
from examples.word_count.stack import WordCount

app = App()
TextProcessing(app, "TextProcessing")
IotPipeline(app, "IotPipeline")
WordCount(app, "WordCount")
ExistingApp(app, "ExistingApp")
app.synth()

"""Word count: map over the chunks of a text in a bucket, partition by word, reduce, summarize."""

from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent
CHUNK_BYTES = 32 * 1024


class WordCount(Stack):
    """Workflow with its functions, and the bucket of texts and counts."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        self.bucket = s3.Bucket(self, "Texts", enforce_ssl=True, removal_policy=RemovalPolicy.DESTROY)
        bucket = {"BUCKET": self.bucket.bucket_name}
        split = self._function("Split", "split", CHUNK_BYTES=str(CHUNK_BYTES), **bucket)
        count = self._function("Count", "count", **bucket)
        summarize = self._function("Summarize", "summarize", **bucket)
        for reader in (split, count):
            self.bucket.grant_read(reader, "texts/*")
        # `grant_put` alone: this function never reads the bucket.
        self.bucket.grant_put(summarize, "counts/*")
        self.workflow = UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl_file(HERE / "workflow.asl.json"),
            functions={
                "Split": split,
                "Count": count,
                "Shuffle": self._function("Shuffle", "shuffle"),
                "Sum": self._function("Sum", "sum"),
                "Summarize": summarize,
            },
        )
        CfnOutput(self, "Bucket", value=self.bucket.bucket_name)

    def _function(self, construct_id: str, folder: str, **environment: str) -> UnumFunction:
        return UnumFunction(
            self,
            construct_id,
            handler="handler.handle",
            code=lambda_.Code.from_asset(str(HERE / "functions" / folder), exclude=["__pycache__"]),
            environment=environment,
        )

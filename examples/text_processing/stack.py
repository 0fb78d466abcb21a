"""Text processing of the Unum paper: find a post's mentions and URLs in parallel, then create and publish the post."""

from pathlib import Path
from typing import Any

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from unum_constructs import Definition, UnumFunction, UnumWorkflow

HERE = Path(__file__).parent
SHORT_BASE = "https://sho.example/"


class TextProcessing(Stack):
    """Workflow with its functions, and tables of short URLs and posts."""

    def __init__(self, scope: Construct, construct_id: str, **options: Any) -> None:
        super().__init__(scope, construct_id, **options)
        self.urls = self._table("Urls", "code")
        self.posts = self._table("Posts", "post_id")
        shorten = self._function("ShortenUrls", "shorten_urls", URLS_TABLE=self.urls.table_name, SHORT_BASE=SHORT_BASE)
        publish = self._function("Publish", "publish", POSTS_TABLE=self.posts.table_name)
        self.urls.grant(shorten, "dynamodb:PutItem")
        self.posts.grant(publish, "dynamodb:PutItem", "dynamodb:GetItem")
        self.workflow = UnumWorkflow(
            self,
            "Workflow",
            definition=Definition.from_asl_file(HERE / "workflow.asl.json"),
            functions={
                "FindMentions": self._function("FindMentions", "find_mentions"),
                "FindUrls": self._function("FindUrls", "find_urls"),
                "ShortenUrls": shorten,
                "CreatePost": self._function("CreatePost", "create_post"),
                "Publish": publish,
            },
        )
        CfnOutput(self, "UrlsTable", value=self.urls.table_name)
        CfnOutput(self, "PostsTable", value=self.posts.table_name)

    def _table(self, construct_id: str, key: str) -> dynamodb.Table:
        return dynamodb.Table(
            self,
            construct_id,
            partition_key=dynamodb.Attribute(name=key, type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            removal_policy=RemovalPolicy.DESTROY,
        )

    def _function(self, construct_id: str, folder: str, **environment: str) -> UnumFunction:
        return UnumFunction(
            self,
            construct_id,
            handler="handler.handle",
            code=lambda_.Code.from_asset(str(HERE / "functions" / folder), exclude=["__pycache__"]),
            environment=environment,
        )

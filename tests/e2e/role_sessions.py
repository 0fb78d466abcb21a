"""Sessions with the role of a deployed function, which call themselves as Lambda does: by the function's name."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import boto3

from tests.e2e.conftest import Deployment


@contextmanager
def session_of(deployment: Deployment, function: str) -> Iterator[boto3.Session]:
    """Provide a session with the role of `function`, which anybody may assume meanwhile."""
    session = deployment.session
    role = session.client("lambda").get_function_configuration(FunctionName=function)["Role"]
    roles, name = session.client("iam"), role.rpartition("/")[2]
    trust = roles.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"]
    root = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{role.split(':')[4]}:root"}}
    document = {"Version": "2012-10-17", "Statement": [{**root, "Action": "sts:AssumeRole"}, *trust["Statement"]]}
    roles.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(document))
    try:
        keys = session.client("sts").assume_role(RoleArn=role, RoleSessionName=function)["Credentials"]
        yield boto3.Session(
            aws_access_key_id=keys["AccessKeyId"],
            aws_secret_access_key=keys["SecretAccessKey"],
            aws_session_token=keys["SessionToken"],
            region_name=session.region_name,
        )
    finally:
        roles.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(trust))

"""What the stack synthesizes to."""

from aws_cdk import App
from aws_cdk.assertions import Template

from app import ProjectNameStack


def test_state_is_kept_in_one_table_and_expires():
    template = Template.from_stack(ProjectNameStack(App(), "ProjectName"))
    template.resource_count_is("AWS::DynamoDB::Table", 1)
    template.has_resource_properties("AWS::DynamoDB::Table", {"TimeToLiveSpecification": {"Enabled": True}})

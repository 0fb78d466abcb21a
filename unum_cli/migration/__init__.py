"""Edits that move Python CDK apps from `aws_stepfunctions.StateMachine` to `UnumWorkflow`; needs libcst."""

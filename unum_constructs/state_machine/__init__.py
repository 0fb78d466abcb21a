"""Words of `aws_stepfunctions.StateMachine` that workflows understand: members, and the CDK's interface."""

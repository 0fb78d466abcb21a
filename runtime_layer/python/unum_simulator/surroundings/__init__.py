"""What surrounds the runtime in a simulation: the AWS client, Lambda's failure records, responders and operators."""

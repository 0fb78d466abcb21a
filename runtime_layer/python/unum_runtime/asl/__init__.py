"""Data flow of the Amazon States Language as pure functions: paths, payload templates, choice rules, and their order.

Sources: the specification (https://states-language.net/spec.html), the Step Functions Developer Guide, and executions
recorded from AWS. Where they differ, recorded behaviour of AWS wins, and a comment or docstring says so.
"""

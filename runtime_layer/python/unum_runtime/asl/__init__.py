"""The data flow of the Amazon States Language, pure: paths, payload templates, choice rules, and their order.

Rules come from the specification (https://states-language.net/spec.html), the Step Functions developer guide and
executions recorded from AWS; where those differ, what AWS does wins, and the place says so.
"""

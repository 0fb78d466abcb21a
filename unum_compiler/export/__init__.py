"""Definitions of Step Functions from definitions of workflows, with what stays behind."""

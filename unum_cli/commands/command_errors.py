"""Errors that end a command; the message names the place and the remedy."""


class UsageError(Exception):
    """Invalid command line: exit code 2."""


class CommandFailed(Exception):
    """Failure of the definition, the execution or AWS: exit code 1."""

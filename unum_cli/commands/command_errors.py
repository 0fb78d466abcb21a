"""How a command ends when it cannot do what it was asked for; the message names the place and the remedy."""


class UsageError(Exception):
    """What stands on the command line is wrong: exit code 2."""


class CommandFailed(Exception):
    """The command line is right, but the definition, the execution or AWS failed: exit code 1."""

"""Calls of one Task: equal calls share one execution and its result, from whichever program they come.

A call runs on a variant of the definition, with its Task alone. Its runs are numbered by the name of the result: a run
that ended without a remembered result is followed by another, by create-if-absent, so that all callers find the same.
Nothing of the caller's becomes internal state but the arguments.

Names of runs are secret until they are told, but a name proves nothing: a start may choose any. An execution is a call
of a Task if the definition that its start record names is the variant for calls of that Task, which no start takes.
"""

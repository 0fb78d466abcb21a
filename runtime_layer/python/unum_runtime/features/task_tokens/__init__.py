"""Task tokens, for Tasks that wait for answers, workers or signals, and jobs that name one; their deliveries load it.

Answers are not here: one may be for an execution of an earlier definition, whichever is deployed when it comes.
"""

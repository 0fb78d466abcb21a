"""Requests from outside an execution: by task token, by execution name, over HTTP."""

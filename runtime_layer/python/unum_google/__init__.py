"""Workflows on Google Cloud: functions over HTTP, events through Cloud Tasks, state in Firestore.

The protocol is the same as on AWS; these modules are its ports.
"""

"""Queues of activities, for Tasks that offer their work to workers; deliveries of such Tasks load it."""

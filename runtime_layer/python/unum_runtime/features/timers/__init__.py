"""Timer queue, its forwarder, schedules and waiters, for workflows with delayed events; these deliveries load it."""

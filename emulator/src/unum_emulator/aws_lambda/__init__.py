"""Lambda in the emulator: sandboxes, the Runtime API, asynchronous events."""

"""Lambda in the emulator: sandboxes, Runtime API and asynchronous events."""

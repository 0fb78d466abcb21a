"""Projects of users: make a new one, and develop it against the emulator."""

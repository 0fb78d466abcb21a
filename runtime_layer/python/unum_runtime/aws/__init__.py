"""AWS adapters, except stores."""

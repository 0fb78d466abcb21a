"""Status events that requests and sweeps put."""

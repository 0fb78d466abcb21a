"""AWS client for the calls of every delivery, on the standard library alone, because an SDK imports too slowly."""

"""Tasks that wait for a signal, made by `g.wait_for`; their deliveries load it, and operators who send one."""

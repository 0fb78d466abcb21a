"""Results that executions share, for Tasks with `memoize`; their deliveries load `memo`, and operators the rest."""

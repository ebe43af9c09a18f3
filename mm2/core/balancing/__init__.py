"""How partitions, slots and rates are divided among tasks and flows."""

"""``./scripts/scale``: what the parts of mm2 that depend on the number of partitions cost."""

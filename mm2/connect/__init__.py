"""Connect's ways to run: workers, standalone or in a group, that run one connector at a time."""

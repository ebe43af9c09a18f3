"""Consumer groups between two clusters: where they stand, and whether they may move."""

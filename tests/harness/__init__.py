"""What ``./scripts/bench``, ``chaos``, ``trials`` and ``demo`` run, and what they share."""

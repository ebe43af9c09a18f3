"""The heartbeat flow: proof that a path between two clusters is alive."""

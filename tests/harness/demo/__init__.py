"""The demo: two clusters, a mirror between them, traffic both ways, and a proof of the copies."""

"""
The demo: two clusters, a mirror between them, traffic both ways, and a proof of the copies.

It sees mm2 as any other program does: through its command, and through Kafka.
"""

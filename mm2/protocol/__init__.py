"""Records by which leader, tasks and nodes talk to each other through Kafka."""

"""Records that Kafka Connect keeps in its topics, in its own formats."""

"""The legacy ``kafka-mirror-maker`` (KIP-3): streams of a consumer group, each a Spark task."""

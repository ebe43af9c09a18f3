"""The public REST interface is Kafka Connect's: its clients show and steer our flows."""

"""Speaks the Kafka protocol with stock clients."""

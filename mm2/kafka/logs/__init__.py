"""Reads small topics with aiokafka."""

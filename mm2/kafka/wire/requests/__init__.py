"""
Requests to brokers and their responses, by what is asked; others are aiokafka's own.

A field ``error`` is Kafka's error code, 0 if there is none.
"""

"""
Fetch and Produce as bytes: record batches pass through without being decoded.

Everything here is shaped after the Kafka protocol guide; connections, TLS, SASL and metadata are
aiokafka's.
"""

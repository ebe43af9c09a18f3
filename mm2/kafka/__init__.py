"""The only package that talks to Kafka clients: admin, logs, wire requests, client settings."""

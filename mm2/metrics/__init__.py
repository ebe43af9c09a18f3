"""Metrics of the flows that a node leads, as text for Prometheus."""

"""Runs the bundles of a flow, and divides partitions and rates among them."""

"""Elects the node that leads a flow, and keeps its lease."""

"""Builds a view of a flow from its topics."""

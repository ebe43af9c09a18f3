"""Clients of the REST interface."""

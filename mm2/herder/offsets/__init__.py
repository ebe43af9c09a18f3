"""Reads and changes the positions of a flow."""

"""Positions of a flow: where it goes on, and what is missing there."""

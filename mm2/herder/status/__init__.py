"""Keeps the status topic of a flow up to date."""

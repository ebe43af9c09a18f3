"""Offsets of the source as offsets of the copy, and back."""

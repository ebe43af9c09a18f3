"""Commits positions."""

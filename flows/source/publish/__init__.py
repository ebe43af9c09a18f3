"""Publishes offset syncs and exact runs, by which others translate offsets."""

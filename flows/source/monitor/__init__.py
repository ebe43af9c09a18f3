"""Watches for missing data and for re-created topics."""

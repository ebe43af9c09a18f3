"""Watches for missing data and for topics that were made anew."""

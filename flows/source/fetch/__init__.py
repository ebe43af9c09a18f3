"""Fetches batches from the source."""

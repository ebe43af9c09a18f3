"""Turns fetched batches into batches for the target."""

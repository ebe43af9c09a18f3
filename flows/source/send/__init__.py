"""Sends batches to the target's leaders."""

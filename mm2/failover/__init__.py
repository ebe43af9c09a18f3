"""Moves consumer groups to the other cluster and back."""

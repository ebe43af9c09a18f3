"""Moves consumer groups from one cluster to the other and back, and stops and resumes flows."""

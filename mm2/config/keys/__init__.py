"""The table of keys."""

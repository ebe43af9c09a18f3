"""Finds what is wrong or suspicious in a file."""

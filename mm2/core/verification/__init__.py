"""Compares the records of a source partition with those of its copy, by digests."""

"""Keeps offsets of groups in a compacted topic, and answers clients that commit and fetch them."""

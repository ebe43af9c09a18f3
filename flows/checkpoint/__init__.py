"""The checkpoint flow: translated group offsets."""

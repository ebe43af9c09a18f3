"""Reads partitions at full speed, for comparing copies and for Spark's data source."""

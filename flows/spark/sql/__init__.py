"""Expressions of Spark SQL, which are evaluated in the middle of a task."""

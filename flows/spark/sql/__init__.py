"""Expressions of Spark SQL in the middle of a task: checked, made columns, run."""

"""The only package that talks to Spark."""

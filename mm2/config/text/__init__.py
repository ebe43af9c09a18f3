"""Text of files and values: properties, providers, expressions, secrets."""

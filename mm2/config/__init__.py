"""What the user wrote as typed values: properties files, providers, table of keys, precedence."""

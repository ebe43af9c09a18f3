"""
What the user wrote, as typed values: properties files, providers, the table of keys, precedence.
"""

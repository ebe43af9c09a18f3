"""Pages and dumps made from the table of keys and from a file."""

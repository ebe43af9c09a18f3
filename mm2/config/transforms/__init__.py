"""Reads ``transforms`` and ``predicates`` of a connector, with the keys below their names."""

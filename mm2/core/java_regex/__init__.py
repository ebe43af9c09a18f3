"""
Regular expressions that mean what Java means by them.

Lists of topics and groups are written for ``java.util.regex``; Python's own syntax differs in what
it accepts and, worse, in what the same text matches (C446).
"""

from mm2.core.java_regex.pattern import JavaPattern
from mm2.core.java_regex.replacement import Replacement

__all__ = ["JavaPattern", "Replacement"]

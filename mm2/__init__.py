"""MirrorMaker 2 in Python: the control plane."""

__version__ = "0.1.0"

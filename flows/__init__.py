"""MirrorMaker 2 in Python: the data plane. Ships in one distribution with ``mm2``."""

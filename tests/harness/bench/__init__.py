"""Benchmarks: mm2 and Java's MirrorMaker side by side, on the same topics, in one run."""

"""The composition root: builds herders and flows from a configuration, and handles signals."""

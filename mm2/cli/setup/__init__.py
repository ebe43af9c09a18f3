"""Commands for what is to be done before a mirror runs."""

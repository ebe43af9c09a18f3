"""Which node leads a flow."""

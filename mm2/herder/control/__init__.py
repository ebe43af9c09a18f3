"""The control topic of a flow: desired state, commands, the leader's own state."""

"""What the checkpoint flow and the client library share: offsets of groups, ids of topics."""

"""The source flow: fetches record batches from one cluster and produces them to another."""

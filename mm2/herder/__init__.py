"""A herder owns the flows into one cluster: internal topics, plans, positions, supervision."""

"""What programs ask about mirrored clusters: topics, hops, groups and translated offsets."""

"""Files for other programs, and from them: configurations, manifests, units."""

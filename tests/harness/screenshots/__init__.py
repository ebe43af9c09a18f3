"""Pictures of the status page, for the documentation."""

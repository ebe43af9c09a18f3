"""What the status page shows, as far as it is plain arithmetic."""

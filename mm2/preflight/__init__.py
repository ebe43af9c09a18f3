"""What a mirror would do, and what would keep it from that; asked before it runs."""

"""What the legacy ``kafka-mirror-maker`` reads: its command line and its two properties files."""

"""The status page of a node: what it shows, as HTML and as JSON; knows no HTTP library."""

"""Topics of a flow: discovery, settings, ACLs, deletion."""

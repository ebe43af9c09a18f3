"""Topics: what their names tell, and what remote topics must look like."""

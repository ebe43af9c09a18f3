"""Records of batches as columns of Arrow, and back."""

"""Training of the default embedder, on worlds of memories that were written for it."""

"""Where memories are kept: a graph store, which is the source of truth, and a vector index."""

"""Storage of memories: a graph store, which is the source of truth, and a vector index."""

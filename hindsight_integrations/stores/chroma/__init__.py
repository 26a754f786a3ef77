"""The vector index on Chroma, embedded or on a server."""

"""Text analysis: embeddings, token vectors, search terms, tokens, times, annotations."""

"""Text to numbers and structure: embeddings, token vectors, lexemes, tokens, times, names."""

"""From text to stored memories: chunk, extract, resolve, link, store."""

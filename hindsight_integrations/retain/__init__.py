"""Turn texts into stored memories: chunk, extract, resolve entities, link, store."""

"""The client's namespaces: operations on banks, memories, entities and so on."""

"""The engine's namespaces: what is done with banks, memories and entities beside the verbs."""

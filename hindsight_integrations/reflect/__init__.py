"""Memories to understanding: observations, opinions, mental models, context and answers."""

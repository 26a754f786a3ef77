"""A story to try memory on: 231 messages between five people, and questions about them.

The questions go through the public API like anybody's; plain vector search gets the same
messages, the same embedder and the same number of answers.
"""

"""The demo: 231 messages between five people, and questions about them.

Questions go through the public API; plain vector search gets the same messages, the same embedder
and the same number of answers.
"""

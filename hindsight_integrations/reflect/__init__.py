"""Memories to understanding: observations, opinions, mental models, context and answers.

Here are the verbs and the work in the background; what they are made of has folders of its own:
`changes` compares statements of different times, and `answers` finds those that answer a question.
Both read grammar, and need no language model.
"""

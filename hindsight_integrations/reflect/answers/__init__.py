"""Answers without a language model: questions are read from their grammar, and sentences quoted.

`questions` reads what is asked for, `stated` the sentences of memories; `matching` tells which of
these answer, `reasons` answers "why", and `extractive` puts together what is quoted.
"""

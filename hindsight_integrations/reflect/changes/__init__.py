"""Changes between statements: what a sentence claims, and whether a later one ends or replaces it.

`claims` reads a statement; its doubts and limits in time are `certainty`. What it says has changed
is read in this order, each reader for what the one before misses:

- `clause_changes`: plain clauses, read as frames in the order of their words ("Alice moved from X
  to Y", "no longer uses X"); a later change is matched with an earlier state.
- `endings`: cues of ending and the phrases that depend on them ("gave up X", "swapped X for Y");
  `ended_values` accepts one only if an earlier state claim gave the same subject that value.
- `other_language_changes`: German, French and Spanish, whose grammar is not parsed.

`contradictions.change` asks them all, and `doubts` may take back what they found; `currency` finds
what newer memories contradict.
"""

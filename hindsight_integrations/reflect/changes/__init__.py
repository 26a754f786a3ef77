"""Changes between statements: what a sentence claims, and whether a later one ends or replaces it.

What a statement says has changed is read in this order, each reader for what the one before misses:

- `claims`: whole frames of grammar ("Alice moved from X to Y", "no longer uses X"), as state
  claims and change claims (`claim_model`); `contradictions` matches a later change claim with an
  earlier state claim. What a whole sentence doubts or limits in time is `certainty`.
- `endings`: cues of ending and the phrases that depend on them ("gave up X", "swapped X for Y");
  `ended_values` accepts one only if an earlier state claim gave the same subject that value.
- `clause_changes`: clauses read as frames in the order of their words.
- `other_language_changes`: German, French and Spanish, whose grammar is not parsed.

`contradictions.change` asks them all, and `doubts` may take back what they found; `currency` finds
what newer memories contradict.
"""

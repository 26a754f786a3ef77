"""Find a sentence that takes back the one before it: "It wasn't.", "I don't believe it."."""

from __future__ import annotations

from itertools import pairwise

import regex

from hindsight_integrations.nlp.sentences import sentences

LONGEST = 9
"""Words of a denial at most: a longer sentence says something of its own."""

_DENIAL = regex.compile(
    r"""^ (?: (?:but|and|yet|though|only|no|nope|well|then|of\ course|in\ the\ end) \b [,.\s]* )*
    (?: (?:i|we|he|she|they|nobody|no\ one) \s
          (?: (?:do|does|did)(?:n['’]t|\s not) | never | don['’]t ) \s
          (?:really\s)? (?: believe | think | buy | say )
          (?: \s (?: it | that | this | so | him | her | them | a\ word | any\ of\ it ) )? \W* $
      | (?:nobody|no\ one) \s (?:believes?|believed)
      | (?:it|that|this|he|she|they|there|i|we) \s
          (?: (?:is|was|were|are|am|did|does|do|has|had|have|would|will|could|can|ca|wo)
              (?:n['’]t|\s not)\b | never \s (?:did|was|were|has|had|happened) )
          \s* (?: true | so | the\ case | right | in\ the\ end | after\ all | there | it )? \W* $
      | (?: (?:that|it|this) (?:['’]s|\s is|\s was) \s )? not \s
          (?: true | really | so | any\ ?more ) \b
      | (?: (?:that|it|this|which) (?:['’]s|\s is|\s was) \s )?
          (?: (?:utter|complete|total|pure|all|just|a) \s )*
          (?: nonsense | rubbish | untrue | false | wrong | lie | joke | made\ up ) \W* $
      | (?: (?:i['’]m|i\ was|just|only) \s )* (?: kidding | joking | jk ) \b
      | (?:i|we) \s (?: was | were ) \s (?: wrong | mistaken ) \b
      | (?: scratch\ that | correction ) \b
      | .{0,60} \b (?: fell\ through | came\ to\ nothing | (?:was|were|got)\ cancell?ed
          | called\ (?:it\ |that\ )?off | changed\ (?:my|our|his|her|their)\ minds? ) \W* $
    )""",
    regex.VERBOSE | regex.IGNORECASE,
)
"""Words that deny or cancel what was just said, in English."""


def denial_after(text: str, quoted: str) -> str:
    """Return the sentence of a text that takes back the quoted one before it; empty if none does.

    Args:
        text: the whole text.
        quoted: a sentence of it, or several in a row.
    """
    for sentence, following in pairwise(sentences(text)):
        if quoted.endswith(sentence) and is_denial(following):
            return following
    return ""


def is_denial(sentence: str) -> bool:
    """Return True if a sentence only takes back what was said before it."""
    return len(sentence.split()) <= LONGEST and _DENIAL.match(sentence) is not None

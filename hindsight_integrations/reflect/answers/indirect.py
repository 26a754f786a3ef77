"""Indirect questions, put directly: "Do you know if Ana sails?", "List the tools we use."."""

from __future__ import annotations

import re

from hindsight_integrations.nlp.sentences import Sentence, parse

_ASKED = re.compile(
    r"(?:please,? )?(?:(?:do|can|could|would|will) you (?:please |still |also )?"
    r"(?:know|tell me|remember|recall|say|remind me)|(?:tell|remind) me"
    r"|i(?:'d| would) like to know|i(?:'m| am)? wonder(?:ing)?)[,:]? "
    r"(?P<word>if|whether|wh(?:o|om|ere|en|at|ich|y)|how(?: (?:many|much|old|long|often|far))?) "
    r"(?P<clause>.+?)[?.! ]*",
    re.IGNORECASE | re.DOTALL,
)
_LISTED = re.compile(
    r"(?:please |can you |could you )?(?:list|name|give me|show me|tell me) "
    r"(?:me )?(?:all (?:of )?(?:the )?|the )(?P<things>.+?)[?.! ]*",
    re.IGNORECASE | re.DOTALL,
)
_ANYTHING = re.compile(
    r"did (?P<who>.+?) say (?:any|some)thing (?P<matter>about .+)", re.IGNORECASE
)
_THINGS = 2
"""Index of the first word of the things in "List the things"."""


def direct(text: str) -> str:
    """Convert an indirect question to a direct one; return other text unchanged."""
    if asked := _ASKED.fullmatch(text.strip()):
        word, clause = asked["word"].casefold(), asked["clause"]
        if word in ("if", "whether"):
            return _inverted("", parse(f"{clause}.")) or text
        kind = word in ("what", "which", "how many", "how much")
        listed = _of_kind(word, clause) if kind else None
        return listed or _inverted(word, parse(f"{clause}.")) or f"{word.capitalize()} {clause}?"
    if anything := _ANYTHING.fullmatch(text.strip()):
        return f"What did {anything['who']} say {anything['matter']}"
    request = _LISTED.fullmatch(text.strip())
    return (_of_kind("which", request["things"]) if request else None) or text


def _of_kind(word: str, things: str) -> str | None:
    """Convert a noun phrase with a clause to a question: "which tools does the team use?"."""
    sentence = parse(f"List the {things}.")
    noun = next((at for at in sentence.children(0, "dobj") if at >= _THINGS), None)
    clause = None if noun is None else next(iter(sentence.children(noun, "relcl")), None)
    if noun is None or clause is None:
        return None
    own = [i for i in sentence.subtree(clause) if sentence.words[i].tag not in ("WDT", "WP", ".")]
    if own and sentence.words[own[0]].text.casefold() == "that":
        own = own[1:]
    if not own:
        return None
    told = parse(f"{sentence.phrase(own)}.")
    kind = sentence.phrase(range(_THINGS, noun + 1))
    return _inverted(f"{word} {kind}", told)


def _inverted(opening: str, told: Sentence) -> str | None:
    """Convert a plain clause to a yes-or-no question: "does Tom live here?"; None if unclear."""
    root = next(iter(told.roots()), None)
    if root is None or not told.words[root].is_verb or told.children(root, "neg"):
        return None
    subjects = told.children(root, "nsubj", "nsubjpass")
    if len(subjects) != 1:
        return None
    subject = told.subtree(subjects[0])
    verb, end = told.words[root], subject[-1] + 1
    helpers = told.children(root, "aux", "auxpass")
    rest = [i for i in range(end, len(told.words)) if told.words[i].tag != "."]
    if helpers or verb.lemma == "be":
        first = helpers[0] if helpers else root
        auxiliary = told.words[first].text
        if first not in rest:
            return None
        rest.remove(first)
        words = [told.words[i].text for i in rest]
    else:
        auxiliary = {"VBD": "did", "VBZ": "does"}.get(verb.tag, "do")
        words = [verb.lemma if i == root else told.words[i].text for i in rest]
    before = told.phrase(range(end))
    question = " ".join(filter(None, (opening, auxiliary, before, *words))) + "?"
    return question[0].upper() + question[1:]

"""Indirect questions, put directly: "Do you know if Ana sails?", "List the tools we use."."""

from __future__ import annotations

import re

from hindsight_integrations.nlp.sentences import parse
from hindsight_integrations.nlp.syntax import Sentence

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
    request = sentence.words[:2]
    objects = request[0].children("dobj") if request else ()
    noun = next((word for word in objects if word not in request), None)
    clause = None if noun is None else noun.child("relcl")
    if noun is None or clause is None:
        return None
    own = [word for word in clause.subtree() if word.tag not in ("WDT", "WP", ".")]
    if own and own[0].text.casefold() == "that":
        own = own[1:]
    if not own:
        return None
    told = parse(f"{sentence.phrase(own)}.")
    kind = sentence.phrase((sentence.words[len(request)], noun))
    return _inverted(f"{word} {kind}", told)


def _inverted(opening: str, told: Sentence) -> str | None:
    """Convert a plain clause to a yes-or-no question: "does Tom live here?"; None if unclear."""
    verb = next(iter(told.roots), None)
    if verb is None or not verb.is_verb or verb.is_denied:
        return None
    subjects = verb.children("nsubj", "nsubjpass")
    if len(subjects) != 1:
        return None
    last = subjects[0].subtree()[-1]
    rest = [word for word in told.words if word > last and word.tag != "."]
    if (helper := verb.child("aux", "auxpass")) or verb.lemma == "be":
        first = helper or verb
        if first not in rest:
            return None
        rest.remove(first)
        auxiliary, words = first.text, [word.text for word in rest]
    else:
        auxiliary = {"VBD": "did", "VBZ": "does"}.get(verb.tag, "do")
        words = [verb.lemma if word is verb else word.text for word in rest]
    before = told.phrase((told.words[0], last))
    question = " ".join(filter(None, (opening, auxiliary, before, *words))) + "?"
    return question[0].upper() + question[1:]

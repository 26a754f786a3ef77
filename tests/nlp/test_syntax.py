"""Words of a parsed sentence: linked to those above, below and beside them."""

from __future__ import annotations

from dataclasses import replace

from hindsight_integrations.nlp import sentences
from hindsight_integrations.nlp.syntax import Sentence, parse


def test_a_word_knows_what_is_above_and_below_it() -> None:
    _, _, sold, the, red, car, _ = parse("Ana Holm sold the red car.").words
    assert sold.is_root
    assert sold.child("dobj") is car
    assert car.head is sold
    assert car.children() == (the, red)
    assert car.children("amod") == (red,)
    assert car.subtree() == [the, red, car]
    assert car.subtree(without=frozenset({"amod"})) == [the, car]
    assert car.phrase == "the red car"
    assert red.upward() == [red, car, sold]
    assert red.governing_verb is sold


def test_a_word_knows_what_is_beside_it() -> None:
    ana, holm, sold, the, *_, end = parse("Ana Holm sold the red car.").words
    assert ana.before is None
    assert holm.before is ana
    assert holm.after is sold
    assert end.after is None
    assert ana.until(sold) == (ana, holm)
    assert ana.following(2) == (holm, sold)
    assert end.following() == ()
    assert ana < the < end
    assert max([end, ana, the]) is end


def test_a_verb_knows_if_it_is_denied_or_an_infinitive() -> None:
    words = {word.text: word for word in parse("Ana does not want to leave.").words}
    assert words["want"].is_denied
    assert not words["want"].is_infinitive
    assert words["leave"].is_infinitive
    assert not words["leave"].is_denied


def test_white_space_is_no_word_to_those_who_ask_for_sentences() -> None:
    text = "Ana  lives\nin Porto."
    assert [word.text for word in sentences.parse(text).words] == "Ana lives in Porto .".split()
    _, lives, way, porto, _ = sentences.parse(text).words
    assert porto.head is way
    assert way.head is lives
    assert sentences.parse(text).phrase((lives, porto)) == "lives\nin Porto"
    assert sentences.parse("Ana left.") is parse("Ana left.")


def test_a_sentence_made_of_the_words_of_another_leaves_that_as_it_was() -> None:
    sentence = parse("Ana sold the car.")
    ana, sold, the, car, end = sentence.words
    read = Sentence(sentence.text, (ana, sold, the, replace(car, tag="VB"), end))
    assert sold.child("dobj") is car
    assert car.sentence is sentence
    assert read.words[3].tag == "VB"
    assert read.words[3].children() == (read.words[2],)
    assert read.words[2] is not the


def test_a_word_read_as_another_keeps_its_place() -> None:
    _, sold, *_ = parse("Ana sold the car.").words
    read = sold.read_as(text="Bought", lemma="buy")
    assert (read.lower, read.lemma, read.tag) == ("bought", "buy", sold.tag)
    assert read.children() == sold.children()
    assert sold.lemma == "sell"

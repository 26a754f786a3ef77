"""Plain memories answer plain questions without a language model, and those alone."""

from __future__ import annotations

import pytest

from hindsight_integrations import Hindsight, Message, Settings

NOTHING = "Nothing known"


def check(told: str, question: str, expected: str, speaker: str = "") -> None:
    """Expect an answer with some words from one memory; none if there are no words."""
    with Hindsight.in_memory(settings=Settings(consolidate=False)) as memory:
        if speaker:
            memory.retain_messages("b", [Message(speaker, told)])
        else:
            memory.retain("b", told)
        found = memory.reflect("b", question).text
    assert found.startswith(NOTHING) is not bool(expected), found
    assert expected in found


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Ana eats fish.", "Who doesn't eat fish?", ""),
        ("Ana eats fish.", "What doesn't Ana eat?", ""),
        ("Ana lives in Rome.", "Where doesn't Ana live?", ""),
        ("Ana is the lead.", "Who is not the lead?", ""),
        ("Ana has a car.", "Who doesn't have a car?", ""),
        ("Ana came because she was bored.", "Why didn't Ana come?", ""),
        ("The invoice was paid.", "Which invoice was not paid?", ""),
        ("The shop opens on Mondays.", "When doesn't the shop open?", ""),
        ("Our provider is Acme.", "Which provider don't we use?", ""),
        ("I don't hate coriander.", "What don't I like?", ""),
        ("Ana doesn't eat fish.", "Who doesn't eat fish?", "Ana"),
        ("Ana doesn't eat fish.", "What doesn't Ana eat?", "fish"),
        ("Ana is not the lead.", "Who is not the lead?", "Ana"),
        ("Ana doesn't have a car.", "Who doesn't have a car?", "Ana"),
        ("Ana can't come because she is ill.", "Why can't Ana come?", "ill"),
        ("I hate coriander.", "What don't I like?", "coriander"),
        ("I can't stand coriander.", "What don't I like?", "coriander"),
    ],
)
def test_what_is_not_so_is_answered_by_a_denial(told: str, question: str, expected: str) -> None:
    check(told, question, expected)


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Mr Chen's contract ends on 31 December.", "When does Mr Chen's contract end?", "31 Dec"),
        ("Mr Chen's contract ends on 31 December.", "When does Mr Holt's contract end?", ""),
        (
            "Gran's apple cake needs five apples.",
            "How many apples does Gran's apple cake need?",
            "five",
        ),
        ("Gran's apple cake needs five apples.", "How many apples does Gran's plum cake need?", ""),
        ("The leak was fixed by Yusuf.", "Has the leak been fixed?", "Yes"),
        ("The leak will be fixed by Yusuf.", "Has the leak been fixed?", "will be"),
        ("The leak was found by Yusuf.", "Has the leak been fixed?", ""),
        (
            "I've been learning Japanese since January.",
            "How long have I been learning Japanese?",
            "since",
        ),
        (
            "I've been teaching Japanese since January.",
            "How long have I been learning Japanese?",
            "",
        ),
        ("Julia is getting married in Cork.", "Where is Julia getting married?", "Cork"),
        ("Julia is getting divorced in Cork.", "Where is Julia getting married?", ""),
        ("Julia wants to get married in Cork.", "Where is Julia getting married?", ""),
        ("Alice and Rob got engaged on 3 May.", "Who got engaged?", "Alice"),
        ("Alice and Rob got engaged on 3 May.", "When did Rob get engaged?", "3 May"),
        ("Alice got fired on 3 May.", "When did Alice get engaged?", ""),
        ("Granny knitted a scarf for Noah.", "What did Granny knit for Noah?", "scarf"),
        ("Tom's car got stolen in Rome.", "Where did Tom's car get stolen?", "Rome"),
        ("Tom got his car washed in Rome.", "Where did Tom get washed?", ""),
        ("Customers complained about slow pages.", "What did customers complain about?", "slow"),
        ("Customers asked about slow pages.", "What did customers complain about?", ""),
        ("My running shoes are in the hall.", "Where are my running shoes?", "hall"),
        ("My sister's running shoes are in the hall.", "Where are my running shoes?", ""),
        ("My walking shoes are in the hall.", "Where are my running shoes?", ""),
    ],
)
def test_the_verb_of_a_question_is_found(told: str, question: str, expected: str) -> None:
    check(told, question, expected)


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("The bridge was closed because of the flood.", "Why was the bridge closed?", "flood"),
        ("The bridge was closed because of the flood.", "Why was the road closed?", ""),
    ],
)
def test_why_something_is_done_to_a_thing(told: str, question: str, expected: str) -> None:
    check(told, question, expected)


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("My son Felix is afraid of spiders.", "Who is afraid of spiders?", "Felix"),
        ("Tobias is on parental leave.", "Who is on parental leave?", "Tobias"),
        ("Ahmed is from Cairo but lives in Bremen.", "Who is from Cairo?", "Ahmed"),
        ("I'm responsible for billing.", "Who is responsible for billing?", "Ben"),
        ("Felix was afraid of spiders as a child.", "Who is afraid of spiders?", ""),
        ("Felix is not afraid of spiders.", "Who is afraid of spiders?", ""),
        ("Felix is afraid of heights and draws spiders.", "Who is afraid of spiders?", ""),
        ("Felix is on the committee for parental leave.", "Who is on parental leave?", ""),
        ("Felix was on parental leave.", "Who is on parental leave?", ""),
        ("Felix will be on parental leave.", "Who is on parental leave?", ""),
        ("The parcel is from Cairo.", "Who is from Cairo?", ""),
        ("Ahmed is near Cairo.", "Who is from Cairo?", ""),
        ("Ahmed wants to be responsible for billing.", "Who is responsible for billing?", ""),
        (
            "Ahmed is responsible for the colour of the billing page.",
            "Who is responsible for billing?",
            "",
        ),
    ],
)
def test_who_is_so(told: str, question: str, expected: str) -> None:
    check(told, question, expected, speaker="Ben")


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Rosa's desk is next to the window.", "Whose desk is next to the window?", "Rosa"),
        ("My mother's birthday is on 3 June.", "Whose birthday is on 3 June?", "mother"),
        ("Mr Chen's contract ends in May.", "Whose contract ends in May?", "Chen"),
        ("Diego's phone has a cracked screen.", "Whose phone has a cracked screen?", "Diego"),
        ("The black umbrella belongs to Peter.", "Whose is the black umbrella?", "Peter"),
        ("Rosa's desk is by the window of Tom's office.", "Whose office is by the window?", ""),
        ("Rosa thinks the desk is by the window.", "Whose desk is by the window?", ""),
        ("The desk is by Rosa's window.", "Whose desk is by the window?", ""),
        ("Rosa's desk is not by the window.", "Whose desk is by the window?", ""),
        ("The umbrella used to belong to Peter.", "Whose is the umbrella?", ""),
        ("The red umbrella belongs to Peter.", "Whose is the black umbrella?", ""),
    ],
)
def test_whose_a_thing_is(told: str, question: str, expected: str) -> None:
    check(told, question, expected)


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("I live in Ulm with my boyfriend.", "Who does Maria live with?", "boyfriend"),
        ("I ordered the lamps from Bosch.", "From whom did Maria order the lamps?", "Bosch"),
        (
            "The boiler was serviced in May by Mr Novak.",
            "By whom was the boiler serviced?",
            "Novak",
        ),
        ("Maria gave Ben the key.", "Who did Maria give the key to?", "Ben"),
        ("Goran reports to Ulrike.", "Who does Goran report to?", "Ulrike"),
        ("Maria lives in Ulm with depression.", "Who does Maria live with?", ""),
        ("Maria works with Ben and lives alone.", "Who does Maria live with?", ""),
        ("Maria lives near Ben.", "Who does Maria live with?", ""),
        ("Maria wants to live with Ben.", "Who does Maria live with?", ""),
        ("Maria ordered a desk for Dell.", "Who did Maria order the desk from?", ""),
        ("The boiler was serviced in May near Novak.", "By whom was the boiler serviced?", ""),
    ],
)
def test_with_whom_and_from_whom(told: str, question: str, expected: str) -> None:
    check(told, question, expected, speaker="Maria")


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("Mr Chen has the premium plan.", "Which plan does Mr Chen have?", "premium"),
        ("The guest room has a double bed.", "What does the guest room have?", "bed"),
        ("Mr Chen has a plan.", "Which plan does Mr Chen have?", ""),
        ("Mr Chen wants to have the premium plan.", "Which plan does Mr Chen have?", ""),
        ("Mr Chen had the premium plan.", "Which plan does Mr Chen have?", ""),
        ("Mr Chen has the premium plan.", "Which plan does Mrs Chen have?", ""),
        ("Ana has no car.", "What does Ana have?", ""),
        ("Ana has to leave.", "What does Ana have?", ""),
        ("Ana's sister has a boat.", "What does Ana have?", ""),
        ("Helga gave Tim a telescope.", "Who got a telescope?", "Tim"),
        ("Helga gave Tim a book about a telescope.", "Who got a telescope?", ""),
        ("Helga promised to give Tim a telescope.", "Who got a telescope?", ""),
        ("The floor was tiled by Bogdan.", "What did Bogdan tile?", "floor"),
        ("The floor was not tiled by Bogdan.", "What did Bogdan tile?", ""),
        ("The floor was tiled next to Bogdan.", "What did Bogdan tile?", ""),
        ("Ida was born in 1921 and died in 2010.", "When did Ida die?", "2010"),
        ("Ida was born in 1921 and her husband died in 2010.", "When did Ida die?", ""),
        ("The site's budget is 400 euros.", "What is the budget of the site?", "400"),
        ("The site's deadline is in May.", "What is the budget of the site?", ""),
        ("There's a bank next to the mill.", "Is there a bank next to the mill?", "bank"),
        ("There's a bank next to the mill.", "Is there a shop next to the mill?", ""),
        ("Anna's mother's birthday is on 3 June.", "when is mum's birthday?", ""),
        ("My mother's birthday is on 3 June.", "when is mum's birthday?", "3 June"),
    ],
)
def test_what_somebody_has_or_did(told: str, question: str, expected: str) -> None:
    check(told, question, expected)


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("We planted a tree when Ella was born.", "When did we plant the tree?", "Ella"),
        ("We planted a tree when Ella was born.", "When did we plant the hedge?", ""),
        ("We wanted to plant a tree when Ella was born.", "When did we plant the tree?", ""),
        ("We did not plant a tree when Ella was born.", "When did we plant the tree?", ""),
        ("I usually run before work.", "When do I run?", "before work"),
        ("I usually run along the canal.", "When do I run?", ""),
        ("Dinner is at eight at Theresa's place.", "When is dinner?", "eight"),
        ("Dinner is at eight tables.", "When is dinner?", ""),
    ],
)
def test_on_which_occasion(told: str, question: str, expected: str) -> None:
    check(told, question, expected)


@pytest.mark.parametrize(
    ("told", "question", "expected"),
    [
        ("The flag for dark mode is called ui_dark.", "What is the flag called?", "ui_dark"),
        ("Our new puppy is a beagle called Waffles.", "What is our puppy called?", "Waffles"),
        ("Our puppy chased a beagle called Waffles.", "What is our puppy called?", ""),
        ("Our puppy is not a beagle called Waffles.", "What is our puppy called?", ""),
        ("The meeting was called off.", "What is the meeting called?", ""),
        ("The plumber was called yesterday.", "What is the plumber called?", ""),
        ("Ana called a plumber.", "What is Ana called?", ""),
        ("Amelie's violin teacher is called Mr Sato.", "Who is Amelie's violin teacher?", "Sato"),
    ],
)
def test_what_a_thing_is_called(told: str, question: str, expected: str) -> None:
    check(told, question, expected)

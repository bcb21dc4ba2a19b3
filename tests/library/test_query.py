"""The search box: whatever is typed means something, or nothing, and never breaks anything."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rushes.errors import Invalid
from rushes.library import indexing, matching, query
from rushes.library.matching import FTS5, TSQUERY, Wanted
from rushes.library.query import Clause, How, Mode, Word, parse
from tests.library.search_cases import INJECTED

TYPED = st.text(
    st.one_of(st.sampled_from(list("\"'-*@#:()&|!<>\\%_{}^ ab19東👍\x00")), st.characters()),
    max_size=80,
)


def test_words_are_clauses_and_what_stands_together_is_a_phrase():
    assert parse("council 7:2") == (
        Clause((Word("council"),)),
        Clause((Word("7"), Word("2"))),
    )


def test_what_is_asked_for_twice_is_looked_for_once():
    assert parse("council Council -a -A") == parse("council -a")


def test_sign_of_a_name_is_asked_for():
    assert parse("@Ann -#x") == (Clause(marks=("@ann",)), Clause(marks=("#x",), negated=True))


@pytest.mark.parametrize(
    "text, mark",
    [
        ("url:", ":url"),
        ("url:www.Example.org/", ":url=example_org"),
        ("number:1.234,50", ":number=1234_5"),
        ("emoji:👍🏽", ":emoji=👍"),
        ("mention:ann", "@ann"),
    ],
)
def test_entity_is_asked_for_in_its_normal_form(text: str, mark: str):
    assert parse(text) == (Clause(marks=(mark,)),)


def test_phrase_in_parts_begins_within_a_word_and_ends_within_one():
    [clause] = parse('"cil votes to"', Mode.SUBSTRING)

    assert [word.how for word in clause.words] == [How.ENDS, How.IS, How.STARTS]


@given(TYPED, st.sampled_from(Mode))
def test_whatever_is_typed_is_parsed(text: str, mode: Mode):
    """B-SR-1: no input raises; no word of the user becomes an operator of a database."""
    for clause in parse(text, mode):
        assert clause.words or clause.marks
        for word in clause.words:
            assert word.text
            assert not set(word.text) & set(" \"'\\&|!():")


@given(TYPED, st.sampled_from(Mode))
def test_question_to_a_database_quotes_every_word(text: str, mode: Mode):
    """B-SR-1: outside the quotes there is nothing but our own operators."""
    wanted = [
        Wanted(tuple({word.text: 0} for word in clause.words), clause.marks, clause.negated)
        for clause in parse(text, mode)
    ]

    fts5, tsquery = matching.ask(FTS5, wanted), matching.ask(TSQUERY, wanted)

    bare = "".join(fts5.split('"')[::2]).translate({ord("("): " ", ord(")"): " "})
    assert set(bare.split()) <= {"AND", "OR", "NOT"}
    assert set("".join(tsquery.split("'")[::2])) <= set("()&|!<-> ")


@pytest.mark.parametrize("case", INJECTED, ids=lambda case: ascii(case.text))
def test_nothing_of_an_injection_leaves_its_quotes(case):
    """B-SR-1."""
    wanted = [
        Wanted(tuple({word.text: 0} for word in clause.words), clause.marks, clause.negated)
        for clause in parse(case.text)
    ]

    assert set("".join(matching.ask(TSQUERY, wanted).split("'")[::2])) <= set("()&|!<-> ")


@pytest.mark.parametrize("text", ["x" * 501, "a " * 251, " ".join("ab" for _ in range(100))])
def test_too_much_is_refused_in_one_sentence(text: str):
    """B-SR-2."""
    with pytest.raises(Invalid, match=r"limit is 500|more than 64 words") as refused:
        parse(text)

    assert refused.value.hint


def test_examples_hold():
    for module in (query, matching, indexing):
        assert doctest.testmod(module).failed == 0

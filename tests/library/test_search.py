"""Search: the same hits in the same order on both databases, for nobody but who may see them."""

from __future__ import annotations

import shutil
import string
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from threading import Barrier
from typing import Any, NamedTuple

import pytest

from rushes.domain.artifact import name_of
from rushes.errors import Invalid, Unavailable
from rushes.library import clips, collect, edit, indexing, search, subtitles, vocabulary
from rushes.library.clips import Wish
from rushes.library.indexing import Line, Source
from rushes.library.query import How, Mode, Word
from rushes.library.retranscode import Again, retranscode
from rushes.library.search import Question
from rushes.media.sample import frame_name
from rushes.media.source import Chapter
from rushes.stages import index
from rushes.store import assets
from rushes.store.database import Database, Transaction, open_database
from tests.library.search_cases import CASES, DELETED, FILMS, Case, Film
from tests.library.studio import FILM, Studio
from tests.world import sql

IDS = [f"018f0000-0000-7000-8000-00000000000{n}" for n in range(len(FILMS))]


JUMP = {
    "sqlite": "UPDATE sqlite_sequence SET seq = seq + 30000 WHERE name = 'spans'",
    "postgres": "SELECT setval(pg_get_serial_sequence('spans', 'id'), max(id) + 30000) FROM spans",
}


class Shelf(NamedTuple):
    """The films of search_cases.py on one database."""

    db: Database
    labels: dict[int, str]

    def ask(self, text: str, mode: str = "words", **where: Any) -> search.Answer:
        return self.db.read(lambda tx: search.search(tx, self.question(text, mode, **where)))

    def question(self, text: str, mode: str = "words", **where: Any) -> Question:
        video = where.pop("video", None)
        place = {"owner": "", **where, "kind": where.pop("source", None)}
        place.pop("source", None)
        asked = Question(text=text, mode=Mode(mode), **place)
        return replace(asked, asset_id=IDS["abcde".index(video)]) if video else asked

    def found(self, text: str, mode: str = "words", **where: Any) -> list[str]:
        return [self.labels[hit.row["id"]] for hit in self.ask(text, mode, **where).hits]


@pytest.fixture(
    scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def shelf(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shelf]:
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("search") / "rushes.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        with closing(open_database(f"sqlite:///{path}")) as db:
            yield filled(db)
        return
    server = request.getfixturevalue("postgres")
    name = f"{request.getfixturevalue('postgres_namespace')}_search"
    url = server.create_database(name, template=request.getfixturevalue("postgres_template"))
    with closing(open_database(url)) as db:
        yield filled(db)
    server.drop_database(name)


def filled(db: Database) -> Shelf:
    labels: dict[int, str] = {}
    for number, (asset_id, film) in enumerate(zip(IDS, FILMS, strict=True)):
        letter = "abcde"[number]
        labels |= db.transact(partial(_add, asset_id=asset_id, film=film), now=film.created_at)
        rows = db.read(lambda tx: tx.rows("stale_spans", version=99, n=1000))
        about = {row["id"]: f"{letter}:{row['kind']}" for row in rows if row["id"] not in labels}
        labels |= about
    db.transact(
        lambda tx: (tx.rows("delete_asset", id=IDS[DELETED]), indexing.hide(tx, IDS[DELETED]))
    )
    return Shelf(db, labels)


def _add(tx: Transaction, asset_id: str, film: Film) -> dict[int, str]:
    tx.run(
        "add_asset",
        id=asset_id,
        owner=film.owner,
        title=film.title,
        tags=list(film.tags),
        filename=film.filename,
        source_key="x",
        bytes=1,
        sha256="0" * 64,
    )
    indexing.describe(tx, asset_id)
    return dict(zip(indexing.put(tx, asset_id, list(film.lines.values())), film.lines, strict=True))


def test_there_are_enough_questions():
    assert len({(case.text, case.mode, str(case.where)) for case in CASES}) >= 150


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.mode}-{case.text[:20]!a}")
def test_question_is_answered_by_these_texts_in_this_order(shelf: Shelf, case: Case):
    """002-034, B-SR-1: phrases, parts, slips, letters of all scripts, entities, operators."""
    assert shelf.found(case.text, case.mode, **case.where) == case.labels.split()


@pytest.mark.parametrize(
    "text, mode, label, shown",
    [
        ("council votes", "words", "a1", ["Council", "votes"]),
        ("ounci", "substring", "a1", ["ounci"]),
        ("strasse", "words", "b1", ["Straße"]),
        ("rasse", "substring", "b1", ["Straße"]),  # ß is one letter: the word is the least
        ("都", "words", "b4", ["都"]),
        ("2026年", "words", "b18", ["2026年"]),
        ("council", "fuzzy", "a4", ["Counci1"]),
        ("@reuters", "words", "a5", ["@Reuters"]),
        ("url:example.org", "words", "a6", ["example.org/live"]),
        ("reuters -rerun", "words", "a5", ["Reuters"]),
        ("👍", "words", "b10", ["👍🏽"]),
        ("<script>", "words", "c1", ["script", "script"]),
    ],
)
def test_characters_that_answer_are_told_as_offsets(
    shelf: Shelf, text: str, mode: str, label: str, shown: list[str]
):
    """B-OCR-1: never as markup."""
    hits = {shelf.labels[hit.row["id"]]: hit for hit in shelf.ask(text, mode).hits}

    hit = hits[label]

    assert [hit.row["text"][start:end] for start, end in hit.offsets] == shown


def test_pages_follow_each_other_and_new_texts_do_not_disturb_them(studio: Studio):
    film = _film(studio, [f"common {n}" for n in range(25)])
    ask = Question(text="common", owner=None)

    first = studio.db.read(lambda tx: search.search(tx, ask, limit=10))
    _put(studio, film, ["common and new"])
    rest = studio.db.read(lambda tx: search.search(tx, ask, limit=100, cursor=first.next_cursor))

    texts = [hit.row["text"] for hit in (*first.hits, *rest.hits)]
    assert texts == [f"common {n}" for n in range(25)]
    assert rest.next_cursor is None


def test_pages_lose_nothing_when_what_was_shown_is_deleted_meanwhile(studio: Studio):
    """The first page ends in the second video, which goes with the first: the third comes next."""
    ask = Question(text="common", owner=None)
    films = [_film(studio, [f"common {film} {n}" for n in range(4)]) for film in "abc"]
    whole = studio.db.read(lambda tx: search.search(tx, ask))
    order = list(whole.videos)

    first = studio.db.read(lambda tx: search.search(tx, ask, limit=6))
    for film in order[:2]:
        edit.delete(studio.library, film)
    rest = studio.db.read(lambda tx: search.search(tx, ask, limit=6, cursor=first.next_cursor))
    edit.restore(studio.library, order[1])
    more = studio.db.read(lambda tx: search.search(tx, ask, limit=6, cursor=first.next_cursor))

    assert sorted(order) == sorted(films)
    assert [hit.row for hit in rest.hits] == [hit.row for hit in whole.hits[8:]]
    assert [hit.row for hit in more.hits] == [hit.row for hit in whole.hits[6:]]


WRONG_CURSORS = ["", "x", "1", "1." * 12, "1." * 12 + "x" * 36, "1." * 11 + IDS[0]]


@pytest.mark.parametrize("cursor", [*WRONG_CURSORS, "9" * 16 + "." + "1." * 11 + IDS[0]])
def test_cursor_that_is_none_of_ours_is_refused(shelf: Shelf, cursor: str):
    with pytest.raises(Invalid, match="none of ours"):
        shelf.db.read(lambda tx: search.search(tx, shelf.question("council"), cursor=cursor))


def test_cursor_from_the_far_future_is_the_present(shelf: Shelf):
    ask = shelf.question("council")
    first = shelf.db.read(lambda tx: search.search(tx, ask, limit=1))
    _, _, place = (first.next_cursor or "").partition(".")

    found = shelf.db.read(lambda tx: search.search(tx, ask, cursor=f"{'9' * 15}.{place}"))

    assert [shelf.labels[hit.row["id"]] for hit in found.hits] == ["a1", "a3", "a10", "a2"]


def test_of_many_texts_the_newest_thousand_are_ranked_and_that_is_said(studio: Studio):
    film = _film(studio, [f"common {n}" for n in range(search.CANDIDATES + 100)])

    found = studio.db.read(
        lambda tx: search.search(tx, Question(text="common", owner=None), limit=2000)
    )
    few = studio.db.read(lambda tx: search.search(tx, Question(text="common 7", owner=None)))

    assert (found.cut, found.moments, found.videos) == (True, 1000, {film: 1000})
    assert {hit.row["text"] for hit in found.hits} == {f"common {n}" for n in range(100, 1100)}
    assert (few.cut, few.moments) == (False, 1)  # of the first hundred: the index found it


@pytest.mark.parametrize("candidates", [7, 12, 1000])
def test_block_after_block_is_asked_until_there_are_enough(
    studio: Studio, monkeypatch: pytest.MonkeyPatch, candidates: int
):
    """Five texts lie in each of six blocks, with an empty one behind each."""
    film = _film(studio, [])
    texts = [[f"common {block} {n}" for n in range(5)] for block in range(6)]
    for some in texts:
        _put(studio, film, some)
        sql(studio.db, JUMP[studio.db.dialect])
    monkeypatch.setattr(search, "CANDIDATES", candidates)
    monkeypatch.setattr(search, "FEW", 0)

    def found(text: str) -> tuple[list[str], bool]:
        asked = Question(text=text, owner=None)
        answer = studio.db.read(lambda tx: search.search(tx, asked, limit=100))
        return sorted(hit.row["text"] for hit in answer.hits), answer.cut

    together = [text for some in texts for text in some]
    assert found("common") == (sorted(together[-candidates:]), candidates < 30)
    assert found('common "0 3"') == (["common 0 3"], False)  # of the oldest block


def test_word_in_many_words_is_looked_for_in_the_commonest(studio: Studio):
    _film(studio, ["aaquick"] * 3 + [f"aaquick{n}" for n in range(vocabulary.MOST + 10)])

    found = studio.db.read(
        lambda tx: search.search(
            tx, Question(text="aquick", mode=Mode.SUBSTRING, owner=None), limit=2000
        )
    )

    assert found.cut
    assert found.moments == vocabulary.MOST + 2
    assert found.hits[0].row["text"] == "aaquick"


def test_word_that_many_may_be_a_reading_of_is_looked_for_in_the_nearest(studio: Studio):
    """What lies beyond them is said to be there."""
    ends = string.ascii_lowercase + string.digits
    _film(studio, ["planet", *(word for end in ends for word in (f"planet{end}", f"{end}planet"))])
    near, few = (Question(text=text, mode=Mode.FUZZY, owner=None) for text in ("planet", "plan"))

    found = studio.db.read(lambda tx: search.search(tx, near, limit=2000))

    assert (found.cut, found.moments) == (True, vocabulary.MOST_NEAR)
    assert not studio.db.read(lambda tx: search.search(tx, few)).cut


def test_every_word_with_one_slip_is_found(studio: Studio):
    """A letter put in, left out or read wrong, at each place of words of each length."""
    words = ["vote", "votes", "planet", "harbour", "assembly"]
    _film(studio, words)
    slips = {
        slip: word
        for word in words
        for at in range(len(word) + 1)
        for slip in (
            word[:at] + "x" + word[at:],
            word[:at] + word[at + 1 :],
            word[:at] + "x" + word[at + 1 :],
        )
        if len(slip) >= vocabulary.ONE_OFF
    }

    def found(tx: Transaction) -> dict[str, bool]:
        near = {slip: vocabulary.choices(tx, Word(slip, How.NEAR), None) for slip in slips}
        return {slip: slips[slip] in one.words for slip, one in near.items()}

    assert [slip for slip, is_found in studio.db.read(found).items() if not is_found] == []


def test_deleted_video_is_in_no_answer_until_it_is_restored(studio: Studio):
    """B-SR-3: nor in counts and suggestions."""
    film = _film(studio, ["platypus here"])

    seen = [_traces(studio, "platypus")]
    edit.delete(studio.library, film)
    seen.append(_traces(studio, "platypus"))
    edit.restore(studio.library, film)
    seen.append(_traces(studio, "platypus"))

    assert seen == [(1, 1, 1, ["platypus"]), (0, 0, 0, []), (1, 1, 1, ["platypus"])]


def test_nothing_of_a_purged_video_is_left_in_the_index(studio: Studio):
    film = _film(studio, ["platypus here"])
    edit.delete(studio.library, film, now=1)

    collect.run_once(studio.library)

    assert _vocabulary(studio) == {}
    assert studio.db.read(lambda tx: tx.rows("newest_span"))[0]["id"] == 0


def test_text_that_is_read_again_takes_the_place_of_the_old(studio: Studio):
    """002-035: found when the task is complete, and not before."""
    film = studio.add(title="x", text=True)
    for step in ("probe", "sample", "ocr"):
        studio.do(step)
    held = studio.take("index")
    before = _traces(studio, "hello")
    assert studio.end(held, studio.result(held))
    after = _traces(studio, "hello")
    studio.finish()
    retranscode(studio.library, film.asset_id, Again(text=True))
    for step in ("probe", "sample", "ocr"):
        studio.do(step)
    held = studio.take("index")
    assert studio.end(held, studio.indexed(held, ["Goodbye @world"]))

    assert (before[0], after[0]) == (0, 1)
    assert _traces(studio, "hello") == (0, 0, 0, [])
    assert _traces(studio, "goodbye")[0] == 1
    assert _vocabulary(studio)["@world"] == 1


def test_title_and_tags_are_found_as_soon_as_they_are_given(studio: Studio):
    film = studio.add(title="Old name", tags=("alpha",)).asset_id
    at_once = [_traces(studio, word)[0] for word in ("old", "alpha", "film")]

    edit.edit(studio.library, film, title="New name", tags=["beta"])

    assert at_once == [1, 1, 1]
    assert [_traces(studio, word)[0] for word in ("old", "alpha", "new", "beta")] == [0, 0, 1, 1]
    assert set(_vocabulary(studio)) == {"new", "name", "beta", "film", "mp4"}


def test_each_owner_has_a_vocabulary_of_their_own(shelf: Shelf):
    """B-SR-3: no word of another's text is suggested, nor stands for one that is asked for."""

    def suggested(owner: str | None, start: str) -> list[str]:
        return shelf.db.read(lambda tx: search.suggest(tx, start, owner=owner))

    assert suggested("", "sec") == []
    assert suggested("bob", "sec") == ["secret"]
    assert suggested(None, "sec") == ["secret"]
    assert suggested("", "@s") == []
    assert suggested("bob", "find @s") == ["@spy"]
    assert suggested("", "coun") == ["council", "counci1"]
    assert suggested("", "del") == ["delayed"]
    assert suggested("", "coun ") == []


def test_chapters_and_subtitles_of_the_file_are_found(studio: Studio):
    """Chapters as soon as the film was looked at, subtitles with its text; replaced together."""
    chapter = Chapter(start_ms=1_000, end_ms=5_000, title="Opening credits")
    studio.source = replace(FILM, chapters=(chapter, replace(chapter, title="")))
    studio.add(text=True)
    for step in ("probe", "sample", "ocr"):
        studio.do(step)
    chapters = _moments(studio, "credits")
    held = studio.take("index")
    said = index.Said(language="en", start_ms=7_000, end_ms=8_000, text="Good evening")

    assert studio.end(held, studio.indexed(held, ["Hello"], said=[said]))

    assert chapters == _moments(studio, "credits") == [("chapter", 1_000, 5_000)]
    assert _moments(studio, "evening") == [("embedded", 7_000, 8_000)]
    assert _moments(studio, "hello") == [("screen", 0, 1_000)]


def test_moment_ends_with_its_film_so_that_a_clip_can_be_cut_of_it(studio: Studio):
    """A cue and a chapter often go on behind the end of the film, which has 20 s."""
    chapter = Chapter(start_ms=15_000, end_ms=20_021, title="Closing credits")
    studio.source = replace(FILM, chapters=(chapter,))
    film = studio.add(text=True).asset_id
    studio.finish()
    subtitles.put(studio.library, film, "en", b"1\n00:00:19,000 --> 00:00:25,000\nGood night\n")

    found = [*_moments(studio, "credits"), *_moments(studio, "night")]

    assert found == [("chapter", 15_000, 20_000), ("subtitle", 19_000, 20_000)]
    for _, start_ms, end_ms in found:
        assert clips.request(
            studio.library, studio.asset(film), Wish(t_start=start_ms, t_end=end_ms)
        )


def test_cue_that_cannot_be_is_not_written(studio: Studio):
    """A result may come from a machine that we do not trust."""
    studio.add(text=True)
    for step in ("probe", "sample", "ocr"):
        studio.do(step)
    held = studio.take("index")
    said = index.Said(language="en", start_ms=8_000, end_ms=7_000, text="Good evening")

    studio.end(held, studio.indexed(held, ["Hello"], said=[said]))

    assert _moments(studio, "evening") == _moments(studio, "hello") == []


def test_zero_hits_bring_near_matches_and_what_cannot_be_found_yet(studio: Studio):
    waiting = studio.add(text=True, title="still being read").asset_id
    other = studio.add(content=b"another", text=True).asset_id
    question = Question(text="counci1", owner=None)
    _put(studio, other, ["Council votes"])

    near, unread = studio.db.read(
        lambda tx: (search.near(tx, question), search.unread(tx, question))
    )

    assert [hit.row["text"] for hit in near] == ["Council votes"]
    assert [asset.id for asset in unread] == [other, waiting]


def test_video_whose_text_nobody_wanted_is_not_waited_for(studio: Studio):
    """Until somebody wants it after all."""
    film = studio.add(text=False).asset_id
    studio.finish()

    def waiting() -> list[str]:
        question = Question(text="council", owner=None)
        return [one.id for one in studio.db.read(lambda tx: search.unread(tx, question))]

    before = waiting()
    retranscode(studio.library, film, Again(text=True))
    after = waiting()
    studio.finish()

    assert (before, after, waiting()) == ([], [film], [])


def test_video_that_cannot_be_found_yet_is_told_of_however_many_are_newer(
    studio: Studio, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(search, "UNREAD", 0)  # the newest one only
    asked = studio.add(text=True).asset_id
    studio.add(content=b"newer", text=True)
    question = Question(text="council", owner=None, asset_id=asked)

    unread = studio.db.read(lambda tx: search.unread(tx, question))

    assert [asset.id for asset in unread] == [asked]


def test_hit_names_the_frame_that_shows_it(studio: Studio):
    film = studio.add(text=True)
    studio.finish()
    [hit] = studio.db.read(lambda tx: search.search(tx, Question(text="hello", owner=None))).hits

    assert hit.row["frame_version"] == 1
    name = name_of(film.asset_id, 1, f"frames/{frame_name(hit.row['start_ms'])}")
    assert studio.db.read(lambda tx: tx.rows("artifact", name=name))


def test_heatmap_counts_texts_and_hits_where_they_are_seen(shelf: Shelf):
    """Numbers equal the texts: ten of a second each in ten seconds."""
    asset = shelf.db.read(lambda tx: assets.get(tx, IDS[0]))
    question = shelf.question("council", video="a")

    texts, hits = shelf.db.read(lambda tx: search.heatmap(tx, asset, bins=10, question=question))

    assert texts == [1] * 10
    assert hits == [1, 1, 1, 0, 0, 0, 0, 0, 0, 1]


def test_database_from_before_the_search_is_indexed_in_the_background(studio: Studio):
    """A database that 0007 left: the rows are there and have no terms."""
    film = _film(studio, ["platypus one", "platypus two"])
    gone = _film(studio, ["platypus gone"])
    edit.delete(studio.library, gone)
    for text in (
        "UPDATE spans SET terms = '', indexed = 0",
        "UPDATE assets SET indexed = 0",
        "DELETE FROM vocabulary",
        "DELETE FROM spans WHERE kind <> 'screen'",
    ):
        sql(studio.db, text)
    before = _traces(studio, "platypus")

    passes = [indexing.run_once(studio.library, batch=2, batches=1) for _ in range(4)]

    assert before == (0, 0, 0, [])
    assert passes == [2, 1, 1, 1]  # two texts, one more, then the titles of one film at a time
    assert indexing.run_once(studio.library) == 0
    assert _traces(studio, "platypus") == (2, 1, 2, ["platypus"])
    assert _vocabulary(studio)["platypus"] == 2
    assert _traces(studio, studio.asset(film).title)[0] >= 1


def test_making_the_index_anew_changes_nothing(studio: Studio):
    _film(studio, ["platypus one", "@ann two €3"])
    before = _vocabulary(studio), _traces(studio, "platypus")

    indexing.start_anew(studio.library)
    while indexing.run_once(studio.library):
        pass

    assert (_vocabulary(studio), _traces(studio, "platypus")) == before


def test_every_question_of_five_hundred_characters_is_answered_and_no_longer_one(shelf: Shelf):
    """B-SR-2: in time, too; only stop words, only emoji, NUL."""
    longest = ("council " * 63)[:500]

    for text in ("a " * 63, "👍" * 250, "\x00" * 500, "the of and", '"' * 500, "-" * 500):
        shelf.found(text)
        shelf.found(text, "fuzzy")
        shelf.found(text, "substring")
    assert min(_seconds(lambda: shelf.found(longest)) for _ in range(3)) < 1
    for text in ("x" * 501, "a " * 5_000):
        with pytest.raises(Invalid, match="the limit is 500"):
            shelf.found(text)


def test_words_are_counted_exactly_while_many_write_and_delete_at_once(studio: Studio):
    """Videos with the same words, in another order each: nobody waits in a circle."""
    words = [f"word{n}" for n in range(40)]
    films = [_film(studio, [" ".join(words[n:] + words[:n])]) for n in range(6)]
    start = Barrier(len(films))

    def work(film: str) -> None:
        start.wait()
        _put(studio, film, ["word1 word0", "word0 extra"])
        edit.delete(studio.library, film)
        edit.restore(studio.library, film)

    with ThreadPoolExecutor(len(films)) as pool:
        list(pool.map(work, films))

    counted = _vocabulary(studio)
    assert (counted["word0"], counted["word1"], counted["word2"]) == (18, 12, 6)
    assert counted["extra"] == 6


def test_question_that_takes_too_long_is_given_up(postgres_database: Database):
    """B-SR-2: statement_timeout."""

    def work(tx: Any) -> None:
        search.search(tx, Question(text="x", owner=None))
        limit = tx._connection.execute("SHOW statement_timeout").fetchone()
        assert limit["statement_timeout"] == "5s"
        tx._connection.execute("SET LOCAL statement_timeout = 10")
        tx._connection.execute("SELECT pg_sleep(10)")

    with pytest.raises(Unavailable, match="took too long"):
        postgres_database.read(work)


def _seconds(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


def _film(studio: Studio, texts: list[str]) -> str:
    film = studio.add(content=repr(texts).encode()[:1000], title="A film").asset_id
    _put(studio, film, texts)
    return film


def _put(studio: Studio, film: str, texts: list[str]) -> None:
    lines = [
        Line(Source.SCREEN, 1000 * n, 1000 * n + 900, text, "en", 0.9)
        for n, text in enumerate(texts)
    ]
    studio.db.transact(lambda tx: indexing.put(tx, film, lines))


def _traces(studio: Studio, word: str) -> tuple[int, int, int, list[str]]:
    """What is to be seen of a word: hits, videos, fuzzy hits, suggestions."""

    def work(tx: Transaction) -> tuple[int, int, int, list[str]]:
        asked = Question(text=word, owner=None)
        found = search.search(tx, asked)
        fuzzy = search.search(tx, replace(asked, mode=Mode.FUZZY))
        suggested = search.suggest(tx, word[:4], owner=None)
        return found.moments, len(found.videos), fuzzy.moments, suggested

    return studio.db.read(work)


def _moments(studio: Studio, word: str) -> list[tuple[str, int, int]]:
    found = studio.db.read(lambda tx: search.search(tx, Question(text=word, owner=None)))
    return [(hit.row["kind"], hit.row["start_ms"], hit.row["end_ms"]) for hit in found.hits]


def _vocabulary(studio: Studio) -> dict[str, int]:
    rows = sql(studio.db, "SELECT word, n FROM vocabulary")
    return {row["word"]: row["n"] for row in rows}

"""The account of a journal says the same as Markdown and as HTML, and no list is cut in silence."""

import hashlib
import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import journal
from journal import config
from journal.engine import repairing
from journal.engine.audit import collecting, markdown, page, quarantined
from journal.engine.audit.report import Audit
from journal.engine.reports import Verified
from journal.event import is_engine_type
from tests.travel import made

Render = Callable[[Audit], str]


def audit(path: Path) -> Audit:
    with journal.open(path, read_only=True) as engine:
        return engine.audit()


def plain_markdown(
    account: Audit, verified: Verified | None = None, anchors: list[tuple[int, str]] | None = None
) -> str:
    """The words of the Markdown report, its marks taken away."""
    shown = markdown.render(account, verified, anchors or ())
    return " ".join(re.sub(r"\\(.)|[*`]", r"\1", shown).split())


def plain_page(
    account: Audit, verified: Verified | None = None, anchors: list[tuple[int, str]] | None = None
) -> str:
    """The words of the HTML report."""
    shown = page.render(account, verified, anchors or ())
    body = re.sub(r"<svg.*?</svg>", " ", shown.partition("<body>")[2], flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split()).replace(" .", ".")


BOTH = pytest.mark.parametrize("render", [plain_markdown, plain_page])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A journal with a checkpoint, a torn end, a scribbled view, and a hand edit."""
    path = tmp_path / "run"
    with journal.init(path) as engine:
        engine.append("set", {"path": "/a", "value": 1}, actor="ann")
        engine.append("merge", {"patch": {"b": 1}})
        engine.snapshot(trigger="noon")
    (path / "state.json").write_text('{"a":')
    with (path / "log" / "00000000000000000001.jsonl").open("ab") as log:
        log.write(b'{"seq":')
    with journal.open(path) as engine:
        engine.append("remove", {"path": "/b"}, actor="ann")
    return path


# --- one count -----------------------------------------------------------------------------------


def test_the_figures_are_the_events_counted_and_are_the_same_words_in_both(run: Path) -> None:
    with journal.open(run, read_only=True) as engine:
        events = list(engine.events())
        verified = engine.verify()
    own = [event for event in events if not is_engine_type(event.type)]
    engine_types = {event.type for event in events} - {event.type for event in own}
    without = sum(not event.actor for event in own)
    expected = [
        f"{len(events)} events: {len(own)} of the users, {len(events) - len(own)} of the engine",
        f"1 actor; {without} event of the users without one",
        f"3 types of the users, {len(engine_types)} of the engine",
        "in 1 segment; on disk up to event",
    ]
    account = audit(run)
    for said in (plain_markdown(account), plain_page(account)):
        for words in (*expected, "0 problems; only the log was read"):
            assert words in said
        assert "1 actors" not in said
        assert " 1 types" not in said
    for said in (plain_markdown(account, verified), plain_page(account, verified)):
        assert "0 problems; all of it was verified" in said


_CUT = r"… and \d+ (?:older [^.]*|more (?:actors?|types?)|more, none [^.]*)\."
_SENTENCES = re.compile(rf"{_CUT}|This report .*? UTC\.|Every line of .*?\.")


def sentences(found: str) -> list[str]:
    """What a report says of the whole journal, and of each list that is cut."""
    return _SENTENCES.findall(found)


def test_both_say_the_same_about_origin_wholeness_and_cut_lists(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quarantined, "_MOST", 1)
    monkeypatch.setattr(collecting, "_MOST_GAPS", 1)
    monkeypatch.setattr(collecting, "_MOST_TOLD", 1)
    with journal.open(run) as engine:
        for number in range(40):
            engine.append("set", {"path": "/n", "value": number}, actor=f"actor-{number:02}")
        engine.snapshot()
    account = audit(run)
    found = sentences(plain_markdown(account))
    # Of actors: "ann", the forty, and "no actor".
    assert "… and 17 more actors." in found
    assert "… and 1 older checkpoint event." in found
    assert "… and 1 older file." in found
    assert any(re.fullmatch(r"… and \d+ more, none longer than [^.]*\.", one) for one in found)
    shown = sentences(plain_page(account))
    lanes = shown.pop(2)  # a picture, which Markdown has not
    assert lanes == "… and 28 more actors."
    assert shown == found


@BOTH
def test_what_is_listed_and_what_is_left_out_are_all_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, render: Render
) -> None:
    """Whatever goes together as others is counted, and the engine's own never do."""
    monkeypatch.setattr(collecting, "_MOST_NAMES", 10)
    with journal.init(tmp_path / "run", durability="os", views_every_ms=60_000) as engine:
        for number in range(60):
            engine.append("set", {"path": "/n", "value": 0}, actor=f"a{number % 45}")
        engine.snapshot()
    account = audit(tmp_path / "run")
    assert account.counts.actors == 45
    assert {one.name for one in account.types} == {"journal.created", "set", "journal.checkpoint"}
    said = render(account)
    # Nine and "no actor" stand alone, thirty-six others go together in a line of their own.
    assert "45 actors" in said
    assert "(others)" in said
    assert "… and 36 more actors." in said
    # Of the type's actors four are listed.
    assert re.search(r"a0 \(2\), a1 \(2\), a2 \(2\), a3 \(2\), … and \d+ or more more", said)


# --- what happened -------------------------------------------------------------------------------


@BOTH
def test_made_is_the_time_of_the_report_and_birth_that_of_the_journal(
    run: Path, render: Render
) -> None:
    account = audit(run)
    written = account.made[:19].replace("T", " ")
    born = account.first_time[:19].replace("T", " ")
    assert (
        f"This report was written at {written}. The journal was created at {born} (event 1). "
        "All times are UTC."
    ) in render(account)


@BOTH
def test_all_that_was_set_aside_is_told_with_the_event_that_tells_of_it(
    run: Path, render: Render
) -> None:
    with journal.open(run, read_only=True) as engine:
        state = engine.state
        (recovered,) = [one for one in engine.events() if one.type == "journal.recovered"]
    log = next((run / "log").glob("*.jsonl"))
    log.write_bytes(log.read_bytes().replace(b'"value":1', b'"value":2', 1))
    repairing.repair(run, state=state)
    (run / "quarantine" / "mine.txt").write_text("mine")
    account = audit(run)
    told = {one.name: one for one in account.quarantine}
    assert set(told) == {path.name for path in (run / "quarantine").iterdir()}
    assert account.quarantine_count == len(told) == 4
    assert told[recovered.data["quarantine"]].seq == recovered.seq
    words = [
        "the torn end that was set aside",
        "the segment as it was before the repair",
        "what stood in the place of state.json, which was then written again from the log",
        "not put there by the engine",
    ]
    assert sorted(one.words for one in told.values()) == sorted(words)
    said = render(account)
    for one in told.values():
        assert one.name in said
        assert one.words in said
    for kind in ("created", "checkpoint", "recovered", "lost", "repaired"):
        assert f" {kind} " in said
    assert "1 event could not be read any more when the journal was repaired" in said


def test_what_was_set_aside_beside_a_view_is_found(tmp_path: Path) -> None:
    view = tmp_path / "changelog.jsonl"
    for name in ("changelog.jsonl", "changelog.jsonl.corrupt.20260301T144500Z", "other"):
        (tmp_path / name).write_text(name)
    (found,) = quarantined.Quarantine(tmp_path / "quarantine", [view]).kept()
    assert (found.name, found.seq) == ("changelog.jsonl.corrupt.20260301T144500Z", None)
    assert found.words.startswith("what stood in the place of changelog.jsonl")
    assert quarantined.Quarantine(tmp_path / "quarantine").count == 0


@BOTH
@pytest.mark.parametrize("is_link", [True, False])
def test_what_stands_in_the_place_of_quarantine_is_told_and_not_followed(
    run: Path, render: Render, is_link: bool
) -> None:
    place = run / "quarantine"
    place.rename(run.parent / "elsewhere")
    if is_link:
        place.symlink_to(run.parent / "elsewhere")
    else:
        place.write_text("no folder")
    (found,) = audit(run).quarantine
    assert found.words.startswith("cannot be looked at: is ")
    assert found.words in render(audit(run))


@BOTH
def test_an_event_of_the_engine_in_another_shape_is_no_fault(run: Path, render: Render) -> None:
    found = quarantined.Quarantine(run / "quarantine")
    with journal.open(run, read_only=True) as engine:
        event = next(engine.events())
    odd: list[Any] = [None, 1, [], {}, {"repairs": 1}, {"repairs": [1, {}]}, {"quarantine": [1]}]
    for kind in ("journal.recovered", "journal.repaired"):
        for data in odd:
            found.explain(journal.Event(seq=1, time=event.time, type=kind, data=data))
    assert len(found.kept()) == 2
    assert render(audit(run))


# --- the segments --------------------------------------------------------------------------------


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@BOTH
def test_every_segment_has_its_digest_the_open_one_so_far(tmp_path: Path, render: Render) -> None:
    path = tmp_path / "run"
    made.make(path, [[("set", {"path": "/n", "value": n})] for n in range(9)], segment_bytes=600)
    said = render(audit(path))
    *closed, last = sorted((path / "log").glob("*.jsonl"))
    for segment in closed:
        assert digest(segment) in said
    size = last.stat().st_size
    assert f"{digest(last)} so far, of its first {size:,} bytes: it is still open" in said
    # The last one names the one before it: where that is missing, no other gets its digest.
    missing = digest(closed[-1])
    closed[-1].unlink()
    said = render(audit(path))
    assert missing not in said
    assert "none: no first line that can be read names it" in said
    *_, before, _ = audit(path).segments
    assert before.last_seq == int(closed[-1].name[:20]) - 1


def test_an_anchor_behind_damage_is_not_said_to_prove_what_stands_before(tmp_path: Path) -> None:
    path = tmp_path / "run"
    made.make(path, [[("set", {"path": "/n", "value": n})] for n in range(9)], segment_bytes=600)
    with journal.open(path, read_only=True) as engine:
        head = engine.head()
    sorted((path / "log").glob("*.jsonl"))[1].unlink()
    with journal.open(path, read_only=True) as engine:
        verified = engine.verify([(head.seq, head.sha256)])
        account = engine.audit()
    assert not [one for one in verified.problems if one.kind == "anchor"]
    for render in (plain_markdown, plain_page):
        said = render(account, verified, [(head.seq, head.sha256)])
        assert f"{head.sha256}: the digest is as noted; what stands before it may" in said
        assert "nothing up to there was changed" not in said.replace("later that nothing", "")


def test_time_in_which_events_are_missing_is_no_gap(tmp_path: Path) -> None:
    now = [1_767_312_000_000]
    with journal.init(tmp_path / "run", clock=lambda: now[0]) as engine:
        for step_ms in (1000, 20_000, 3000):
            now[0] += step_ms
            engine.append("set", {"path": "/n", "value": step_ms})
    log = next((tmp_path / "run" / "log").glob("*.jsonl"))
    account = audit(tmp_path / "run")
    assert [gap.length_ms for gap in account.gaps] == [20_000, 3000, 1000]
    for render in (plain_markdown, plain_page):
        said = render(account)
        assert re.search(r"20 s .*2026-01-02 00:00:01 .*2026-01-02 00:00:21 .*2\b", said)
        assert re.search(r"3 s .*2026-01-02 00:00:21\.000 .*2026-01-02 00:00:24\.000 .*3\b", said)
    log.write_bytes(log.read_bytes().replace(b'"value":20000', b'"value":20001'))
    account = audit(tmp_path / "run")
    assert [gap.length_ms for gap in account.gaps] == [1000]
    assert account.counts.gaps == 1


def test_anchors_that_were_given_are_told_one_by_one(run: Path) -> None:
    wrong = (2, "0" * 64)
    with journal.open(run, read_only=True) as engine:
        head = engine.head()
        anchors = [(head.seq, head.sha256), wrong]
        verified = engine.verify(anchors)
        account = engine.audit()
    for render in (plain_markdown, plain_page):
        said = render(account, verified, anchors)
        assert f"Anchor {head.seq}:{head.sha256}: nothing up to there was changed" in said
        assert f"Anchor 2:{'0' * 64}: does not hold, see above" in said


def test_a_fork_names_its_birth_and_its_source(run: Path, tmp_path: Path) -> None:
    with journal.open(run, read_only=True) as engine:
        engine.fork(tmp_path / "fork")
    said = plain_markdown(audit(tmp_path / "fork"))
    assert re.search(r"The journal was created at .* \(event 1\), forked at .* \(event \d+\)", said)
    assert config.read(run).id in said


@BOTH
def test_names_that_differ_in_what_is_not_seen_look_different(
    tmp_path: Path, render: Render
) -> None:
    names = ["a\x00b", "a\x01b", "a\u200bb", "a\u202eb", "ab"]
    with journal.init(tmp_path / "run") as engine:
        for name in names:
            engine.append("set", {"path": "/n", "value": 0}, actor=name)
    said = render(audit(tmp_path / "run"))
    for words in ("a\\u{0}b", "a\\u{1}b", "a\\u{200b}b", "a\\u{202e}b", " ab "):
        assert words in said


def test_the_engines_own_types_never_go_together_with_others(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "_MOST_NAMES", 2)
    account = audit(run)
    own = {one.name for one in account.types if is_engine_type(one.name)}
    assert own == {"journal.created", "journal.checkpoint", "journal.recovered"}
    assert (account.counts.own_types, account.counts.engine_types) == (3, 3)
    assert account.counts.other_types == 2
    assert "3 types of the users, 3 of the engine" in plain_markdown(account)

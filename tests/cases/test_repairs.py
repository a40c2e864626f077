"""What `repair` makes of the cases that a writer is refused for.

It is asked for, keeps every event that a reader gets and those that stand whole between foreign
bytes, writes down the others as lost, keeps the old file, and today's state goes on.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

import journal
from journal.engine.repairing import plan, repair
from journal.errors import Corrupt, UsageError
from tests.cases.made import (
    Made,
    append_to,
    make,
    make_segments,
    readable,
    refused,
    seal,
    unchanged,
)

NUL = b"\0"
BOM = b"\xef\xbb\xbf"

Spoil = Callable[[Made], None]


def partial_then_whole(made: Made) -> None:
    lines = made.lines()
    made.put([*lines[:3], lines[3][:40] + b"\n", *lines[3:]])


def partial_and_whole(made: Made) -> None:
    made.insert(4, made.lines()[3][:40])


def two_on_a_line(made: Made) -> None:
    lines = made.lines()
    made.put([*lines[:2], lines[2].rstrip(b"\n") + lines[3], b"\n", *lines[4:]])


def changed(line: int) -> Spoil:
    return lambda made: made.edit(line, b'"value":%d' % line, b'"value":0')


CASES: dict[str, tuple[Spoil, list[int]]] = {
    "A07 a partial line, then the whole one": (partial_then_whole, []),
    "A07 both on one line": (partial_and_whole, []),
    "A08 a cut line": (lambda made: made.replace(3, made.lines()[2][:40] + b"\n"), [3, 4]),
    "A08 a changed byte": (changed(3), [3]),
    "A10 the first line cut": (lambda made: made.replace(1, b'{"seq":1,\n'), [2]),
    "A10 the first line changed": (lambda made: made.edit(1, b'"document"', b'"documenT"'), []),
    "B02 zeros between two lines": (lambda made: made.insert(3, NUL * 600 + b"\n"), []),
    "B02 a line of zeros": (lambda made: made.replace(3, NUL * 90 + b"\n"), [3, 4]),
    "B04 zeros before the first line": (lambda made: made.insert(1, NUL * 8), []),
    "B04 zeros before a line": (lambda made: made.insert(3, NUL * 8), []),
    "B05 nothing but zeros": (lambda made: made.put(NUL * 600), [2, 3, 4, 5]),
    "C01 an empty log": (lambda made: made.put(b""), [2, 3, 4, 5]),
    "C07 a line of another shape": (lambda made: made.insert(3, b"null\n"), []),
    "D04 whole lines gone at the end": (lambda made: made.put(made.lines()[:3]), [4, 5]),
    "F05 two events on a line": (two_on_a_line, []),
    "F07 a line twice": (lambda made: made.insert(4, made.lines()[2]), []),
    "F07 a line gone": (lambda made: made.replace(3, b""), [3, 4]),
    "I01 a BOM before the file": (lambda made: made.insert(1, BOM), []),
    "I01 a BOM before a line": (lambda made: made.insert(3, BOM), []),
    "I05 bytes that are no UTF-8": (lambda made: made.edit(3, b'"/k"', b'"\xff"'), [3]),
    "I07 CRLF everywhere": (
        lambda made: made.put(made.log.read_bytes().replace(b"\n", b"\r\n")),
        [],
    ),
    "I07 CRLF on one line": (lambda made: made.replace(3, made.lines()[2][:-1] + b"\r\n"), []),
    "I07 CR everywhere": (lambda made: made.put(made.log.read_bytes().replace(b"\n", b"\r")), []),
    "K04 two lines swapped": (
        lambda made: made.put([made.lines()[at] for at in (0, 2, 1, 3, 4)]),
        [3, 4],
    ),
}


@pytest.mark.parametrize(("spoil", "lost"), CASES.values(), ids=CASES.keys())
def test_repair_keeps_what_is_whole_writes_down_what_is_lost_and_the_state_of_today_goes_on(
    tmp_path: Path, spoil: Spoil, lost: list[int]
) -> None:
    made = make(tmp_path)
    whole = made.lines()
    spoil(made)
    damaged = made.log.read_bytes()
    refused(made, Corrupt, 5)
    before = set(readable(made).seqs)

    with unchanged(made):
        planned = plan(made.path)
    done = repair(made.path)
    assert (planned.lost_events, done.lost_events, done.done) == (len(lost), len(lost), True)
    (segment,) = done.segments
    assert made.quarantined[segment.quarantine] == damaged
    assert segment.why

    with journal.open(made.path) as engine:
        assert engine.state == {"k": 5}
        report = engine.verify()
        assert report.problems == []
        events = list(engine.events(upto=5))
        gone = [event for event in events if event.type == "journal.lost"]
        kept = {event.seq for event in events} - {event.seq for event in gone}
        spans = [seq for event in gone for seq in range(event.seq, event.data["upto"] + 1)]
        assert spans == lost
        assert kept == {1, 2, 3, 4, 5} - set(lost)
        assert before <= kept | {1}
        for seq in kept - {1}:
            body = whole[seq - 1][: whole[seq - 1].rindex(b',"crc"')]
            assert any(line.startswith(body + b',"crc"') for line in made.lines())
        if lost:
            with pytest.raises(Corrupt, match="lost"):
                engine.state_at(lost[0])
        engine.append("set", {"path": "/k", "value": "after"})
    with journal.open(made.path) as engine:
        assert (engine.state, engine.messages) == ({"k": "after"}, [])
    assert plan(made.path).segments == []


def test_repair_of_a_forged_line_that_is_no_event_loses_that_one(tmp_path: Path) -> None:
    """C07: its check fits, so only who reads it notices."""
    made = make(tmp_path)
    lines = made.lines()
    made.put(seal([*lines[:2], b'{"seq":"3","crc":"00000000"}\n', *lines[3:]]))
    assert repair(made.path).lost_events == 1
    with journal.open(made.path) as engine:
        assert (engine.state, engine.verify().problems) == ({"k": 5}, [])


def test_repair_of_a_missing_segment_records_the_gap_and_goes_on_with_the_state_of_today(
    tmp_path: Path,
) -> None:
    """E07."""
    made = make_segments(tmp_path, 12)
    others = [made.segment(first).read_bytes() for first in (1, 9)]
    made.segment(5).unlink()
    done = repair(made.path)
    assert [each.lost for each in done.segments] == [[[6, 8]]]
    assert [made.segment(first).read_bytes()[: len(others[0])] for first in (1,)] == others[:1]
    with journal.open(made.path) as engine:
        assert engine.state == {"k": 12}
        assert engine.verify().problems == []
        assert engine.state_at(4) == {"k": 4}
        with pytest.raises(Corrupt, match="events 6 to 8 are lost"):
            engine.state_at(9)


def test_repair_of_a_pruned_log_starts_it_again_at_1_and_goes_on(tmp_path: Path) -> None:
    """E08."""
    made = make_segments(tmp_path, 12)
    made.segment(1).unlink()
    repair(made.path)
    with journal.open(made.path) as engine:
        assert (engine.state, engine.verify().problems) == ({"k": 12}, [])
        assert [event.seq for event in engine.events(after=4)][:8] == list(range(5, 13))


def test_repair_without_the_state_of_today_wants_one_and_changes_nothing(tmp_path: Path) -> None:
    made = make(tmp_path)
    changed(3)(made)
    made.forget()
    made.state.unlink()
    with unchanged(made), pytest.raises(UsageError) as caught:
        repair(made.path)
    assert (caught.value.key, caught.value.exit_code) == ("state", 2)
    assert "--state" in caught.value.advice
    repair(made.path, state={"k": "given"})
    with journal.open(made.path) as engine:
        assert (engine.state, engine.verify().problems) == ({"k": "given"}, [])


def test_repair_of_a_whole_journal_changes_nothing(tmp_path: Path) -> None:
    made = make_segments(tmp_path, 10)
    with unchanged(made):
        assert plan(made.path).segments == []
        assert repair(made.path).segments == []


def test_repair_leaves_a_torn_tail_to_the_next_writer(tmp_path: Path) -> None:
    made = make(tmp_path)
    made.add(made.next_line()[:40])
    with unchanged(made):
        assert repair(made.path).segments == []
    with made.open() as engine:
        append_to(engine, 8)
        assert engine.verify().ok


def test_anchor_noted_before_a_repair_behind_it_is_doubted_and_one_noted_after_it_holds(
    tmp_path: Path,
) -> None:
    """Anybody could have written that a segment was repaired, and exchanged it."""
    made = make_segments(tmp_path)
    with made.read() as engine:
        before, behind = engine.head(3), engine.head()
    damaged = made.segment(5)
    lines = made.lines(damaged)
    made.put([lines[0], lines[1].replace(b'"value":', b'"vaLue":'), *lines[2:]], damaged)
    repair(made.path)
    with made.read() as engine:
        after = engine.head()
        for head, holds in ((before, True), (behind, False), (after, True)):
            report = engine.verify([(head.seq, head.sha256)])
            assert report.ok is holds
        [problem] = engine.verify([(behind.seq, behind.sha256)]).problems
    assert (problem.kind, problem.segment) == ("anchor", damaged.name)
    assert "repaired this segment afterwards" in problem.message

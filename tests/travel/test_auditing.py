"""The account of a journal: its counts are those of its events, and it can be handed on safely."""

import html.parser
import itertools
import re
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import journal
from journal.engine import repairing
from journal.engine.audit import collecting, markdown, page, picture
from journal.engine.audit.report import OTHERS, Audit, Named
from journal.engine.audit.wording import duration
from journal.event import format_time, time_to_ms
from tests.travel import made

START = time_to_ms("2026-01-02T23:59:00.000Z")  # a Friday
MINUTE = 60_000
DAY = 24 * 60 * MINUTE
EVIL = "<script>alert(1)</script>|`*\n\u202e\x1b[31m&amp;"


def audit(path: Path) -> Audit:
    with journal.open(path, read_only=True) as engine:
        return engine.audit()


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Two weeks of work by some, with a crash, a hand edit, a restore and a fork behind it."""
    path = tmp_path / "run"
    now = [START]

    def work(engine: journal.Engine, count: int) -> None:
        for n in range(count):
            now[0] += MINUTE * (n % 3 + 1)
            engine.append(
                "set", {"path": f"/n{n % 4}", "value": n}, actor=["ann", "bob", ""][n % 3]
            )

    with journal.init(path, clock=lambda: now[0]) as engine:
        work(engine, 20)
        engine.snapshot(trigger="before the crash")
    with (path / "log" / "00000000000000000001.jsonl").open("ab") as log:
        log.write(b'{"seq":')
    now[0] += 3 * DAY
    with journal.open(path, clock=lambda: now[0]) as engine:
        work(engine, 10)
    view = path / "state.json"
    view.write_text(view.read_text().replace("{", '{"hand": 1,', 1))
    with journal.open(path, clock=lambda: now[0], on_drift="adopt") as engine:
        engine.append("merge", {"patch": {"x": 1}}, actor=EVIL)
        engine.restore(5, reason=EVIL)
        names = [one.file for one in engine.snapshots() if one.type == "manual"]
        engine.prune(names, reason="too many")
    return path


def test_the_counts_are_those_of_the_events(run: Path) -> None:
    with journal.open(run, read_only=True) as engine:
        events = list(engine.events())
    found = audit(run)
    assert (found.events, found.lost) == (len(events), 0)
    assert (found.first_time, found.last_time) == (events[0].time, events[-1].time)
    for names, attribute, other in (
        (found.types, "type", "actor"),
        (found.actors, "actor", "type"),
    ):
        counts = Counter(getattr(event, attribute) for event in events)
        assert {one.name: one.count for one in names} == counts
        assert [one.count for one in names] == sorted(counts.values(), reverse=True)
        for one in names:
            own = [event for event in events if getattr(event, attribute) == one.name]
            assert (one.first_seq, one.last_seq) == (own[0].seq, own[-1].seq)
            assert (one.first_time, one.last_time) == (own[0].time, own[-1].time)
            assert one.with_whom == Counter(getattr(event, other) for event in own)
            assert sum(one.bins) == one.count
    assert sum(map(sum, found.rhythm)) == len(events)
    assert found.rhythm[4][23] == 1  # made on a Friday, a minute before midnight
    assert found.rhythm[5][0] > 10


def test_what_happened_to_the_journal_is_told_in_order(run: Path) -> None:
    found = audit(run)
    assert [one.type.removeprefix("journal.") for one in found.happenings] == [
        *("created", "checkpoint", "recovered", "adopted", "restored", "pruned"),
    ]
    words = {one.type: one.words for one in found.happenings}
    assert "7 bytes" in words["journal.recovered"]
    assert "1 change" in words["journal.adopted"]
    assert "event 5" in words["journal.restored"]
    assert "1 checkpoint deleted: too many" in words["journal.pruned"]
    assert found.told == Counter(one.type for one in found.happenings)


def test_the_longest_gaps_come_first(run: Path) -> None:
    with journal.open(run, read_only=True) as engine:
        times = [(time_to_ms(event.time), event.seq) for event in engine.events()]
    gaps = [
        (later - earlier, -seq)
        for (earlier, seq), (later, _) in itertools.pairwise(times)
        if later > earlier
    ]
    found = audit(run).gaps
    assert [(gap.length_ms, -gap.after_seq) for gap in found] == sorted(gaps, reverse=True)[:10]
    assert found[0].length_ms == 3 * DAY


def test_the_heads_are_anchors(tmp_path: Path) -> None:
    path = tmp_path / "run"
    made.make(path, [[("set", {"path": "/n", "value": n})] for n in range(20)], segment_bytes=600)
    found = audit(path)
    assert len(found.segments) > 3
    anchors = [(one.last_seq, one.sha256) for one in found.segments if one.sha256]
    assert len(anchors) == len(found.segments) - 1
    assert found.head is not None
    with journal.open(path, read_only=True) as engine:
        assert engine.verify([*anchors, (found.head.seq, found.head.sha256)]).ok
        assert found.log_bytes == engine.status().log_bytes


def test_a_fork_and_a_repair_are_told(run: Path, tmp_path: Path) -> None:
    with journal.open(run, read_only=True) as engine:
        engine.fork(tmp_path / "fork")
        source = engine.id
        state = engine.state
    words = {one.type: one.words for one in audit(tmp_path / "fork").happenings}
    assert source in words["journal.forked"]
    log = next((run / "log").glob("*.jsonl"))
    lines = log.read_bytes().splitlines(keepends=True)
    lines[4] = lines[4].replace(b'"value"', b'"valeu"')
    log.write_bytes(b"".join(lines))
    damaged = audit(run)
    with journal.open(run, read_only=True) as engine:
        problems = [p for p in engine.verify().problems if p.kind == "damage"]
        assert damaged.problems == problems
        assert damaged.events == engine.verify().events
    repairing.repair(run, state=state)
    repaired = audit(run)
    assert (repaired.lost, repaired.problems) == (1, [])
    words = {one.type: one.words for one in repaired.happenings}
    assert "lost events 5 to 5" in words["journal.repaired"]
    assert words["journal.lost"]


def test_a_journal_with_nothing_in_it_has_an_account(tmp_path: Path) -> None:
    made.make(tmp_path / "run", [])
    found = audit(tmp_path / "run")
    assert (found.events, found.gaps) == (1, [])
    assert "1 segment" in markdown.render(found)
    assert picture.timeline(found)
    assert page.render(found)


@pytest.mark.slow
def test_memory_is_bounded_by_names_and_not_by_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "_MOST_NAMES", 20)
    monkeypatch.setattr(collecting, "_MOST_TOLD", 5)
    with journal.init(tmp_path / "run", durability="os", views_every_ms=86_400_000) as engine:
        for batch in range(10):
            engine.append_batch(
                [("set", {"path": "/n", "value": n}) for n in range(2000)], actor=f"a{batch}"
            )
        for n in range(30):
            engine.append("set", {"path": "/n", "value": n}, actor=f"b{n}")
            engine.snapshot()
    with journal.open(tmp_path / "run", read_only=True) as engine:
        tracemalloc.start()
        found = engine.audit()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert found.events == 20_061
    assert len(found.actors) == 21
    assert next(one.count for one in found.actors if one.name == OTHERS) > 1
    assert sum(one.count for one in found.actors) == found.events
    assert found.told["journal.checkpoint"] == 30
    assert len([one for one in found.happenings if one.type == "journal.checkpoint"]) == 5
    assert peak < 8 << 20


# --- handing it on -------------------------------------------------------------------------------


class Reader(html.parser.HTMLParser):
    """Checks that tags close, and collects what a page would fetch or run."""

    VOID = frozenset({"meta", "br", "img", "link", "input"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.links += [
            value or "" for name, value in attrs if name in ("src", "href", "xlink:href")
        ]
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_is_whole_and_asks_for_nothing(run: Path) -> None:
    with journal.open(run, read_only=True) as engine:
        shown = page.render(engine.audit(), engine.verify())
    reader = Reader()
    reader.feed(shown)
    assert reader.open == []
    assert reader.links == []
    assert reader.tags["script"] == reader.tags["img"] == reader.tags["link"] == 0
    assert reader.tags["svg"] == 3
    assert "url(" not in shown
    assert not re.search(r"https?:|//[a-z]", shown)
    assert "prefers-color-scheme: dark" in shown
    assert "default-src 'none'" in shown
    # What came from the log is there as text.
    assert "alert(1)" in reader.text
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_markdown_lets_nothing_of_the_log_work(run: Path) -> None:
    shown = markdown.render(audit(run))
    rows = [line for line in shown.splitlines() if "script" in line]
    assert rows
    for row in rows:
        assert "<script" not in row.replace("\\<", "")
        assert row.startswith("|")
        assert row.endswith("|")
    tables: dict[int, int] = {}
    columns = 0
    for number, line in enumerate(shown.splitlines()):
        if line.startswith("|"):
            count = len(re.findall(r"(?<!\\)\|", line))
            columns = columns or count
            assert count == columns, line
            tables[number] = count
        else:
            columns = 0
    assert len(tables) > 20


def test_the_picture_shows_every_event(run: Path) -> None:
    found = audit(run)
    shown = picture.series(found)
    assert sum(sum(bins) for _, bins in shown) == found.events
    titles = re.findall(r"<title>from [^<]*\n(\d+) events?\b", picture.timeline(found))
    assert sum(map(int, titles)) == found.events
    assert "without an event" in picture.timeline(found)


@pytest.mark.parametrize("span_ms", [1, 7, 999, 60_000, DAY, 40 * DAY, 4000 * DAY, 90_000 * DAY])
def test_every_span_has_a_few_ticks_inside_the_picture(span_ms: int) -> None:
    account = Audit(
        path="",
        id="",
        projection="",
        format=1,
        durability="",
        made="",
        first_time="2026-01-01T00:00:00.000Z",
        last_time=format_time(time_to_ms("2026-01-01T00:00:00.000Z") + span_ms - 1),
        bins=10,
        types=[Named(name="set", count=1, bins=[1] + [0] * 9)],
    )
    scale = picture.Scale(account)
    ticks = scale.ticks()
    assert 1 <= len(ticks) <= 10
    assert all(50 <= x <= 1000 for x, _ in ticks)


@given(st.integers(0, 10**13))
def test_durations_have_two_units_at_most_and_are_close(length_ms: int) -> None:
    words = duration(length_ms)
    units = {"d": DAY, "h": 60 * MINUTE, "min": MINUTE, "s": 1000, "ms": 1}
    pairs = re.findall(r"([0-9,]+) ([a-z]+)", words)
    total = sum(int(count.replace(",", "")) * units[unit] for count, unit in pairs)
    assert 1 <= len(pairs) <= 2
    assert 0 <= length_ms - total < units[pairs[-1][1]]

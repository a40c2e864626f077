"""Row 12: somebody changes history on purpose, who knows the format and recomputes what can be.

I1  With an anchor at or behind the first change `verify` finds it, always and whatever was done.
    An anchor before it stays true.
I2  Without one it finds what README says: a change whose CRCs, chain, snapshots, views or witness
    were not made anew. Where all of them were, nothing is wrong in itself, and it says so.
I3  What is only derived and was rolled back is never taken for the truth where `verify` is asked.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import orjson

import journal
from journal import codec
from journal import witness as witnesses
from journal.engine.reports import Verified
from journal.event import REPAIRED, Event
from journal.witness import ViewRecord, Voucher
from snapshots import snapshot
from tests.faults.forging import cover_up, forge, other_byte
from tests.faults.row import Outcome, Row, Tier, Violation
from tests.faults.tree import memory_folder, read_tree, write_tree
from tests.travel import made

TRIALS = {"quick": 1000, "full": 10_000}
_EVENTS = 12


class Changed(NamedTuple):
    """What a trick did: the first seq that is not as it was (0: the log is), and what finds it.

    `found_by` are kinds of problems, of which one is found without an anchor; none are if empty.
    """

    seq: int
    found_by: frozenset[str]


Trick = Callable[[Path, random.Random, list[journal.Event]], Changed]


def run(tier: Tier) -> Outcome:
    """Play tricks in turn on copies of one journal; raises `Violation`."""
    with memory_folder() as folder:
        path = folder / "run"
        appends = [[("set", {"path": f"/n{n % 5}", "value": n * 11})] for n in range(_EVENTS)]
        made.make(path, appends, segment_bytes=800)
        whole = read_tree(str(path))
        with journal.open(path, read_only=True) as engine:
            events = list(engine.events())
            anchors = [
                (head.seq, head.sha256) for head in map(engine.head, range(1, engine.seq + 1))
            ]
        tally = dict.fromkeys(TRICKS, 0)
        for number in range(TRIALS[tier]):
            name = list(TRICKS)[number % len(TRICKS)]
            write_tree(str(path), whole)
            changed = TRICKS[name](path, random.Random(number), events)
            _check(path, f"{name} (trial {number})", changed, anchors)
            tally[name] += 1
    return Outcome(
        sum(tally.values()), notes=tuple(f"{name}: {count:,}" for name, count in tally.items())
    )


def _check(path: Path, name: str, changed: Changed, anchors: list[tuple[int, str]]) -> None:
    kinds = {problem.kind for problem in _verify(path).problems}
    if bool(kinds & changed.found_by) != bool(changed.found_by) or (kinds and not changed.found_by):
        raise Violation(f"{name}: without an anchor {kinds or 'nothing'} was found (I2)")
    wrong = {p.seq for p in _verify(path, *anchors).problems if p.kind == "anchor"}
    due = {seq for seq, _ in anchors if changed.seq and seq >= changed.seq}
    # Behind a line that does not check, or a break of the chain, anchors are not what shows it.
    if not wrong <= due or (wrong != due and not kinds & {"damage", "chain"}):
        raise Violation(f"{name}: of the anchors {due} the wrong ones were {wrong} (I1)")
    for anchor in anchors:
        if changed.seq and anchor[0] >= changed.seq and _verify(path, anchor).ok:
            raise Violation(f"{name}: the anchor at {anchor[0]} alone found nothing (I1)")


def _verify(path: Path, *anchors: tuple[int, str]) -> Verified:
    with journal.open(path, read_only=True) as engine:
        return engine.verify(anchors)


# --- tricks --------------------------------------------------------------------------------------

_DERIVED = frozenset({"view", "snapshot", "witness"})


def edit_all(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Change a byte of an event; make everything anew."""
    seq = _some_set(rng, events)
    forge(path, seq, other_byte(rng.randrange(20)))
    cover_up(path)
    return Changed(seq, frozenset())


def exchange_all(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Let two events have each other's data; make everything anew."""
    one, other = sorted(rng.sample([event.seq for event in events if event.type == "set"], 2))
    data = {event.seq: orjson.dumps(event.data) for event in events}

    def put(seq: int, new: bytes) -> None:
        forge(path, seq, lambda body: body.replace(data[seq], new))

    put(one, data[other])
    put(other, data[one])
    cover_up(path)
    return Changed(one, frozenset())


def drop_all(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Drop the end at the edge of a line; make everything anew."""
    changed = _drop(path, rng)
    cover_up(path)
    return Changed(changed, frozenset())


def drop(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Drop the end at the edge of a line, and nothing else."""
    return Changed(_drop(path, rng), frozenset({"witness"}))


def edit_without_chain(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Change an event, with fitting CRCs, in a segment that another one follows."""
    newest = int(max((path / "log").glob("*.jsonl")).name[:20])
    seq = rng.choice([e.seq for e in events if e.type == "set" and e.seq < newest])
    forge(path, seq, other_byte(rng.randrange(20)), chain=False)
    return Changed(seq, frozenset({"chain"}))


def edit_without_crcs(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Change an event and leave the CRCs as they were."""
    seq = _some_set(rng, events)
    forge(path, seq, other_byte(rng.randrange(20)), chain=False, crcs=False)
    return Changed(seq, frozenset({"damage"}))


def edit_without_views(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Change a value that the state still has, with CRCs and chain, and nothing else."""
    seq = rng.choice([event.seq for event in events if event.type == "set"][-5:])
    forge(path, seq, _other_value)
    return Changed(seq, _DERIVED)


def roll_snapshot_back(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Put an earlier state into a later snapshot, with fitting digests."""
    files = sorted((path / "snapshots").glob("*.json"))
    later = rng.randrange(1, len(files))
    old, new = snapshot.read(files[rng.randrange(later)]), snapshot.read(files[later])
    files[later].write_bytes(
        snapshot.encode(
            type=new.type,
            timestamp=new.timestamp,
            trigger=new.trigger,
            seq=new.seq,
            projection=new.projection,
            revision=new.revision,
            state_bytes=old.state_bytes,
            extra=new.extra,
        )
    )
    return Changed(0, frozenset({"snapshot"}))


def roll_view_back(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Put an earlier state in the place of the view; the witness is as it was."""
    files = sorted((path / "snapshots").glob("*.json"))
    state = snapshot.read(rng.choice(files[:-1])).state()
    (path / "state.json").write_bytes(orjson.dumps(state, option=orjson.OPT_INDENT_2) + b"\n")
    return Changed(0, frozenset({"view"}))


def pretend_repair(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Change a closed segment and append that a repair did it, with the digest it has now."""
    seq = _pretend(path, rng, events, _sha256)
    return Changed(seq, frozenset())


def pretend_other_repair(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Change a closed segment and append that a repair did it, with another digest."""
    seq = _pretend(path, rng, events, lambda _: "0" * 64)
    return Changed(seq, frozenset({"chain"}))


def vouch_for_other_view(path: Path, rng: random.Random, events: list[journal.Event]) -> Changed:
    """Put another state into the view, and vouch for it as that of an event."""
    witness = witnesses.decode((path / "witness.json").read_bytes())
    assert witness is not None
    data = b'{\n  "n0": "other"\n}\n'
    (path / "state.json").write_bytes(data)
    found = (path / "state.json").stat()
    [(name, record)] = witness.views.items()
    assert record.after is not None
    voucher = Voucher(
        seq=rng.choice([event.seq for event in events if event.type == "set"]),
        revision=record.after.revision,
        size=found.st_size,
        inode=found.st_ino,
        mtime_ns=found.st_mtime_ns,
        sha256=codec.sha256(data),
    )
    forged = msgspec.structs.replace(witness, views={name: ViewRecord(None, voucher)})
    (path / "witness.json").write_bytes(witnesses.encode(forged))
    return Changed(0, frozenset({"view"}))


TRICKS: dict[str, Trick] = {
    "an event changed, everything made anew": edit_all,
    "two events exchanged, everything made anew": exchange_all,
    "the end dropped, everything made anew": drop_all,
    "the end dropped": drop,
    "an event changed, the chain forgotten": edit_without_chain,
    "an event changed, the CRCs forgotten": edit_without_crcs,
    "an event changed, views and snapshots forgotten": edit_without_views,
    "a snapshot rolled back": roll_snapshot_back,
    "the view rolled back": roll_view_back,
    "the view replaced, and vouched for": vouch_for_other_view,
    "a segment changed, and a repair pretended": pretend_repair,
    "a segment changed, and another repair pretended": pretend_other_repair,
}


def _some_set(rng: random.Random, events: list[journal.Event]) -> int:
    return rng.choice([event.seq for event in events if event.type == "set"])


def _drop(path: Path, rng: random.Random) -> int:
    """Drop one line or more of the newest segment, but not its first; return the first seq."""
    last = max((path / "log").glob("*.jsonl"))
    lines = last.read_bytes().splitlines(keepends=True)
    kept = rng.randrange(1, len(lines))
    last.write_bytes(b"".join(lines[:kept]))
    seq: int = orjson.loads(lines[kept])["seq"]
    return seq


def _sha256(segment: Path) -> str:
    return codec.sha256(segment.read_bytes())


def _pretend(
    path: Path,
    rng: random.Random,
    events: list[journal.Event],
    digest: Callable[[Path], str],
) -> int:
    segments = sorted((path / "log").glob("*.jsonl"))
    last = segments[-1]
    seq = rng.choice([e.seq for e in events if e.type == "set" and e.seq < int(last.name[:20])])
    forge(path, seq, other_byte(rng.randrange(20)), chain=False)
    changed = max(one for one in segments if int(one.name[:20]) <= seq)
    repair = {"segment": changed.name, "lost": [], "new_sha256": digest(changed)}
    event = Event(seq=events[-1].seq + 1, time=events[-1].time, type=REPAIRED, data=None)
    data = last.read_bytes()
    tail = codec.read_tail(data)
    assert tail is not None
    body = codec.encode_body(event, orjson.dumps({"repairs": [repair]}))
    last.write_bytes(data + codec.seal([body], codec.crc_after(tail.crc))[0])
    cover_up(path)
    return seq


def _other_value(body: bytes) -> bytes:
    start = body.index(b'"value":') + len(b'"value":')
    end = body.index(b"}", start)
    return body[:start] + b"1" + body[start:end] + body[end:]


ROW = Row(12, "tampering: history changed on purpose and all made to fit, or some", run)

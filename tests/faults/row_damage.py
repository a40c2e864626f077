"""Row 2: every kind of damage at every byte of every file of a healthy journal.

segment    Damage to a promised event is refused to a writer, with the file and the offset of the
           first bad line, and the journal is unchanged; in a closed segment, which opening does
           not read, it is so as soon as it is read. Readers get every good event, and no other.
           Without a witness what looks like the end that a crash leaves may be cut, and is kept.
snapshot   Is passed over: states are right. `verify` names it, `rebuild` puts it back.
view       Is written again, or is drift: then nothing is changed. The state is right.
witness    Protects less, and no more is lost: everything is as the log has it.
keys       Are made anew: a key that was seen is known.
settings   `journal.yaml` is refused by an error of ours that names it, or what it says is done.
"""

import random
from collections.abc import Callable
from contextlib import closing

import journal
from journal import codec
from journal.errors import Corrupt, Drift, JournalError
from journal.event import RECOVERED, Event
from tests.faults import healthy
from tests.faults.damage import Damaged, common_prefix, damages
from tests.faults.healthy import Healthy
from tests.faults.laws import VIEW, plain
from tests.faults.quick import settings_parsed_once
from tests.faults.row import Outcome, Row, Tier, Violation
from tests.faults.story import FOLDER, fixed_clock
from tests.faults.tree import differences, memory_folder, read_tree

LIMITS = {"quick": 21_000, "full": 235_000}
APPENDS = {"quick": 4, "full": 24}
SEGMENT_BYTES = {"quick": 900, "full": 4_000}

_SHARES = {
    "segment": 0.6,
    "snapshot": 0.1,
    "view": 0.1,
    "witness": 0.08,
    "settings": 0.1,
    "keys": 0.02,
}


def kind_of(path: str) -> str:
    """Return what sort of file it is, as in `_SHARES`."""
    name = path.rpartition("/")[2]
    if name.endswith(".jsonl"):
        return "segment"
    if name.endswith(".ids"):
        return "keys"
    if "/snapshots/" in path:
        return "snapshot"
    return {VIEW: "view", "witness.json": "witness", "journal.yaml": "settings"}[name]


def try_file(subject: Healthy, path: str, *, limit: int) -> int:
    """Try the laws on damages of one file, at most so many, evenly spread; return how many."""
    kind = kind_of(path)
    found = list(damages(subject.data(path)))
    chosen = found if len(found) <= limit else random.Random(path).sample(found, limit)
    for damaged in chosen:
        subject.put(path, damaged.data)
        try:
            if _LAWS[kind](subject, path, damaged):
                subject.restore()
        except Violation as violation:
            raise Violation(f"{path}, {damaged}: {violation}") from None
        except Exception as error:
            raise Violation(f"{path}, {damaged}: crashed: {error!r}") from error
        subject.put(path, subject.data(path))
    return len(chosen)


# --- the laws; each returns whether the journal was changed --------------------------------------


def _segment(subject: Healthy, path: str, damaged: Damaged) -> bool:
    whole = subject.data(path)
    is_last = path == subject.segments()[-1]
    shared = common_prefix(whole, damaged.data)
    beyond = shared == len(whole)
    first_bad = shared if beyond else whole.rfind(b"\n", 0, shared) + 1
    # Behind the promised events the table of recovery decides: cut, or refused.
    torn = is_last and (beyond or _may_be_torn(subject, damaged.data, first_bad))
    _read_damaged(subject, path, damaged, first_bad, torn=torn)
    try:
        with closing(journal.open(subject.folder, clock=fixed_clock)) as engine:
            reached = subject.last_seq
            if not is_last:
                _must_be_found(subject, path, first_bad, lambda: list(engine.events()))
            elif not beyond and not _may_be_torn(subject, damaged.data, first_bad):
                raise Violation(f"opened for writing; byte {first_bad} is not what was written")
            else:
                reached = _must_begin_alike(subject, engine)
                _must_be_kept(subject, damaged)
                if beyond and reached != subject.last_seq:
                    raise Violation(f"promised events are gone: {reached} are left")
            if plain(engine.state) != subject.states[reached]:
                raise Violation(f"the state is wrong: {engine.state}")
        return True
    except Corrupt as error:
        _must_name(subject, path, first_bad, error)
        _must_be_unchanged(subject, path, damaged)
        return False


def _read_damaged(
    subject: Healthy, path: str, damaged: Damaged, first_bad: int, *, torn: bool
) -> None:
    events: list[Event] = []
    with journal.open(subject.folder, read_only=True) as engine:
        try:
            events.extend(engine.events())
            told = False
        except Corrupt as error:
            told = True
            _must_name(subject, path, first_bad, error)
        if not told and not torn:
            raise Violation("a reader is told of no damage")
        verified = engine.verify() if damaged.at % 7 == 0 else None
    got = {event.seq: healthy.tell(event) for event in events}
    if list(got) != sorted(got):
        raise Violation(f"a reader gets seqs {list(got)}")
    if wrong := [seq for seq in got if subject.events.get(seq) != got[seq]]:
        raise Violation(f"a reader gets other events than were written: {wrong}")
    if not torn and (missing := _good(subject, path, damaged.data) - set(got)):
        raise Violation(f"good events that a reader does not get: {sorted(missing)}")
    _must_be_unchanged(subject, path, damaged)
    # Without a witness a view ahead of a log that was cut is a problem of the view.
    bare = f"{FOLDER}/witness.json" not in subject.tree
    if verified is not None and verified.ok == told and not (bare and not told):
        raise Violation(f"verify: {verified.problems}")


def _may_be_torn(subject: Healthy, data: bytes, first_bad: int) -> bool:
    """Say whether nothing shows that the bytes from here on were on disk before."""
    if f"{FOLDER}/witness.json" in subject.tree:
        return False
    line, *rest = data[first_bad:].split(b"\n")
    return not rest or b"\0" in line or not b"".join(rest).strip()


def _must_begin_alike(subject: Healthy, engine: journal.Engine) -> int:
    """Return how many of the promised events are there, before a `journal.recovered`."""
    true = list(subject.events.values())
    got = [healthy.tell(event) for event in engine.events() if event.type != RECOVERED]
    if got != true[: len(got)]:
        raise Violation("events are not those that were promised")
    return len(got)


def _must_be_kept(subject: Healthy, damaged: Damaged) -> None:
    """Check that what was cut off lies in quarantine."""
    tree = read_tree(str(subject.root))
    torn = [file.data for name, file in tree.items() if file and name.endswith(".torn")]
    if torn and not damaged.data.endswith(torn[0]):
        raise Violation("other bytes are kept than were cut off")


def _good(subject: Healthy, path: str, data: bytes) -> set[int]:
    """Return the seqs of lines that are as they were written, behind one whose crc is.

    The others of the segment may be given or not: nothing is left to check them from.
    """
    first = int(path.rpartition("/")[2][:20])
    segment_seqs = dict(enumerate(subject.data(path).split(b"\n")[:-1], first))
    wanted = set(subject.events) - set(segment_seqs)
    seqs = {line: seq for seq, line in segment_seqs.items()}
    lines = data.split(b"\n")
    for before, line in zip([b"", *lines], lines[:-1], strict=False):
        seq = seqs.get(line)
        if seq is not None:
            crc = segment_seqs.get(seq - 1, b"")[-codec.SUFFIX_BYTES + 1 :]
            if before[-codec.SUFFIX_BYTES + 1 :] == crc:
                wanted.add(seq)
    return wanted


def _must_name(subject: Healthy, path: str, first_bad: int, error: Corrupt) -> None:
    named = (error.path, error.offset)
    if named != (str(subject.root / path), first_bad):
        raise Violation(f"the first bad line is at byte {first_bad}, and {named} is named: {error}")


def _must_be_found(subject: Healthy, path: str, first_bad: int, read: Callable[[], object]) -> None:
    try:
        read()
    except Corrupt as error:
        _must_name(subject, path, first_bad, error)
    else:
        raise Violation("damage in a closed segment is read without a word")


def _must_be_unchanged(subject: Healthy, path: str, damaged: Damaged) -> None:
    changes = differences(subject.with_file(path, damaged.data), read_tree(str(subject.root)))
    if changes:
        raise Violation(f"refused, or only read, and yet changed: {changes}")


def _snapshot(subject: Healthy, path: str, damaged: Damaged) -> bool:
    with journal.open(subject.folder, read_only=True) as engine:
        _check_states(subject, engine)
        verified = engine.verify()
    name = path.rpartition("/")[2]
    if verified.ok or not any(name in problem.message for problem in verified.problems):
        raise Violation(f"verify does not name it: {verified.problems}")
    with journal.open(subject.folder, clock=fixed_clock) as engine:
        _check_states(subject, engine)
        engine.rebuild()
        if not (verified := engine.verify()).ok:
            raise Violation(f"after rebuild: {verified.problems}")
    if (subject.root / path).read_bytes() != subject.data(path):
        raise Violation("rebuild made other bytes than were there")
    return True


def _check_states(subject: Healthy, engine: journal.Engine) -> None:
    for seq in (subject.last_seq, subject.last_seq - 1):
        if plain(engine.state_at(seq)) != subject.states[seq]:
            raise Violation(f"the state at {seq} is wrong")
    if plain(engine.state) != subject.states[subject.last_seq]:
        raise Violation("the state is wrong")


def _view(subject: Healthy, path: str, damaged: Damaged) -> bool:
    with journal.open(subject.folder, read_only=True) as engine:
        _check_states(subject, engine)
    try:
        with journal.open(subject.folder, clock=fixed_clock) as engine:
            _check_states(subject, engine)
    except Drift as error:
        if error.path != str(subject.root / path):
            raise Violation(f"drift names {error.path}") from error
        _must_be_unchanged(subject, path, damaged)
        return False
    if (subject.root / path).read_bytes() != subject.data(path):
        raise Violation("the view is not what it was")
    kept = [
        file.data
        for name, file in read_tree(str(subject.root)).items()
        if file is not None and "/quarantine/" in name
    ]
    if damaged.data not in kept:
        raise Violation("the bytes that were there are not kept")
    return True


def _witness(subject: Healthy, path: str, damaged: Damaged) -> bool:
    with journal.open(subject.folder, read_only=True) as engine:
        _check_states(subject, engine)
    _must_be_unchanged(subject, path, damaged)
    with journal.open(subject.folder, clock=fixed_clock) as engine:
        _check_states(subject, engine)
        if not (verified := engine.verify()).ok:
            raise Violation(f"verify: {verified.problems}")
        if engine.messages or engine.seq != subject.last_seq:
            raise Violation(f"something was done about it: {engine.messages}")
    return True


def _keys(subject: Healthy, path: str, damaged: Damaged) -> bool:
    with journal.open(subject.folder, clock=fixed_clock) as engine:
        for event in engine.events():
            if event.id and engine.append(event.type, event.data, id=event.id).seq != event.seq:
                raise Violation(f"key {event.id!r} is not known any more")
    return True


def _settings(subject: Healthy, path: str, damaged: Damaged) -> bool:
    try:
        with journal.open(subject.folder, clock=fixed_clock) as engine:
            _check_states(subject, engine)
            if engine.seq != subject.last_seq:
                raise Violation(f"opening added events: {engine.messages}")
        return True
    except JournalError as error:
        if isinstance(error, Corrupt) and error.path != str(subject.root / path):
            raise Violation(f"names {error.path}: {error}") from error
        _must_be_unchanged(subject, path, damaged)
        return False


_LAWS: dict[str, Callable[[Healthy, str, Damaged], bool]] = {
    "segment": _segment,
    "snapshot": _snapshot,
    "view": _view,
    "witness": _witness,
    "keys": _keys,
    "settings": _settings,
}


def run(tier: Tier) -> Outcome:
    """Try every file of a journal of one segment, and of one of several."""
    counts: dict[str, int] = {}
    with settings_parsed_once(), memory_folder() as folder:
        subjects = [
            healthy.make(folder / "one", appends=APPENDS[tier]),
            healthy.make(
                folder / "several", appends=APPENDS[tier], segment_bytes=SEGMENT_BYTES[tier]
            ),
            healthy.make(folder / "no-witness", appends=APPENDS[tier]).without_witness(),
        ]
        files = [(subject, path) for subject in subjects for path in subject.files()]
        files = [(subject, path) for subject, path in files if _matters(subject, path)]
        for subject, path in files:
            kind = kind_of(path)
            alike = sum(kind_of(other) == kind for _, other in files)
            limit = int(LIMITS[tier] * _SHARES[kind] / alike)
            counts[kind] = counts.get(kind, 0) + try_file(subject, path, limit=limit)
    told = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
    return Outcome(sum(counts.values()), notes=(f"damages of each sort of file: {told}",))


def _matters(subject: Healthy, path: str) -> bool:
    """Say whether a file is tried: without a witness only the log differs."""
    return f"{FOLDER}/witness.json" in subject.tree or kind_of(path) == "segment"


ROW = Row(2, "damage at every byte", run)

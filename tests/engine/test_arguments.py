"""Wrong arguments: every parameter of the public calls, with every hostile value.

The law: a call either does what it says, or raises a `JournalError` (an `OSError` for a path that
the system does not take); and a call that refused has changed nothing in the log.
"""

import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import journal
from journal.errors import UsageError


class Holder(msgspec.Struct):
    value: object = None


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError("no words for it")


def _recursive() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def _deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(5000):
        found = [found]
    return found


SET = {"path": "/q", "value": 1}
HOSTILE: dict[str, Any] = {
    "None": None,
    "True": True,
    "5": 5,
    "-1": -1,
    "1.5": 1.5,
    "NaN": math.nan,
    "infinity": math.inf,
    "2**70": 2**70,
    "10**5000": 10**5000,
    "no text": "",
    "text": "1",
    "NUL": "a\0b",
    "surrogate": "\ud800",
    "newline": "a\nb",
    "bytes": b"x",
    "list": [],
    "list of 1": [1],
    "list of NaN": [math.nan],
    "list of surrogates": ["\ud800"],
    "object": object(),
    "unprintable": Unprintable(),
    "keys that are no text": {1: 2},
    "recursive": _recursive(),
    "deep": _deep(),
    "set": {1},
    "struct": Holder(),
    "struct of an object": Holder(object()),
    "struct of a surrogate": Holder("\ud800"),
    "pair": ("set", 5),
    "pairs": [("set", 5)],
    "pairs of numbers": [(5, 5)],
    "pair of an object": [("set", {"path": "/a", "value": object()})],
    "a wrong draft": journal.Draft(type=5, data=5),  # type: ignore[arg-type]
    "another": journal.Draft(type="set", data=SET, id=5, cause="x", time=5),  # type: ignore[arg-type]
}

Call = Callable[[journal.Engine, Any, Path], object]

WRITING: dict[str, Call] = {
    "append(event)": lambda j, v, _: j.append(v),
    "append(event, data)": lambda j, v, _: j.append(v, SET),
    "append(data)": lambda j, v, _: j.append("set", v),
    "append(value)": lambda j, v, _: j.append("set", {"path": "/z", "value": v}),
    "append(path)": lambda j, v, _: j.append("set", {"path": v, "value": 1}),
    "append(patch)": lambda j, v, _: j.append("patch", {"patch": v}),
    "append(actor)": lambda j, v, _: j.append("set", SET, actor=v),
    "append(id)": lambda j, v, _: j.append("set", SET, id=v),
    "append(cause)": lambda j, v, _: j.append("set", SET, cause=v),
    "append(expected_seq)": lambda j, v, _: j.append("set", SET, expected_seq=v),
    "append_batch(events)": lambda j, v, _: j.append_batch(v),
    "append_batch([event])": lambda j, v, _: j.append_batch([v]),
    "append_batch(actor)": lambda j, v, _: j.append_batch([("set", SET)], actor=v),
    "append_batch(expected_seq)": lambda j, v, _: j.append_batch([], expected_seq=v),
    "append_history(drafts)": lambda j, v, _: j.append_history(v),
    "append_history([draft])": lambda j, v, _: j.append_history([v]),
    "execute(command)": lambda j, v, _: j.execute(v),
    "execute(returned)": lambda j, v, _: j.execute(lambda state: v),
    "execute(actor)": lambda j, v, _: j.execute(lambda state: [("set", SET)], actor=v),
    "execute(id)": lambda j, v, _: j.execute(lambda state: [("set", SET)], id=v),
    "execute(expected_seq)": lambda j, v, _: j.execute(lambda state: [], expected_seq=v),
    "restore(at)": lambda j, v, _: j.restore(v),
    "restore(reason)": lambda j, v, _: j.restore(2, reason=v),
    "prune(files)": lambda j, v, _: j.prune(v),
    "prune(reason)": lambda j, v, _: j.prune([], reason=v),
    "snapshot(type)": lambda j, v, _: j.snapshot(v),
    "snapshot(trigger)": lambda j, v, _: j.snapshot("manual", v),
    "rebuild(progress)": lambda j, v, _: j.rebuild(v),
}
READING: dict[str, Call] = {
    "state_at": lambda j, v, _: j.state_at(v),
    "seq_at": lambda j, v, _: j.seq_at(v),
    "seq_of": lambda j, v, _: j.seq_of(v),
    "head": lambda j, v, _: j.head(v),
    "events(after)": lambda j, v, _: list(j.events(v)),
    "events(upto)": lambda j, v, _: list(j.events(0, v)),
    "events(types)": lambda j, v, _: list(j.events(types=v)),
    "events([type])": lambda j, v, _: list(j.events(types=[v])),
    "verify(anchors)": lambda j, v, _: j.verify(v),
    "verify([anchor])": lambda j, v, _: j.verify([v]),
    "verify(seq)": lambda j, v, _: j.verify([(v, "a" * 64)]),
    "verify(sha256)": lambda j, v, _: j.verify([(1, v)]),
    "verify(progress)": lambda j, v, _: j.verify(progress=v),
    "replay(progress)": lambda j, v, _: j.replay(v),
    "diff(a)": lambda j, v, _: j.diff(v, 1),
    "diff(b)": lambda j, v, _: j.diff(1, v),
    "diff(pointer)": lambda j, v, _: j.diff(1, 2, v),
    "blame(pointer)": lambda j, v, _: list(j.blame(v)),
    "blame(after)": lambda j, v, _: list(j.blame("", after=v)),
    "blame(upto)": lambda j, v, _: list(j.blame("", upto=v)),
    "blame_all(pointer)": lambda j, v, _: j.blame_all(v),
    "blame_all(depth)": lambda j, v, _: j.blame_all("", depth=v),
    "watch(after)": lambda j, v, _: j.watch(v),
    "watch(pointer)": lambda j, v, _: j.watch(0, pointer=v),
    "stepper(pointer)": lambda j, v, _: j.stepper(v),
    "bisect(predicate)": lambda j, v, _: j.bisect(v),
    "bisect(after)": lambda j, v, _: j.bisect(bool, after=v),
    "bisect(upto)": lambda j, v, _: j.bisect(bool, upto=v),
    "compare(other)": lambda j, v, _: j.compare(v),
    "fork(at)": lambda j, v, path: j.fork(path, at=v),
    "fork(changes)": lambda j, v, path: j.fork(path, changes=v),
    "fork([change])": lambda j, v, path: j.fork(path, changes=[v]),
}
OPTIONS = {
    journal.open: ("read_only", "projection", "durability", "on_drift", "lock_timeout_s", "clock"),
    journal.init: (
        "projection",
        "durability",
        "views_every_ms",
        "view_files",
        "time",
        "take_over",
        "events",
        "lock_timeout_s",
        "on_message",
    ),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[journal.Engine]:
    path = tmp_path_factory.mktemp("arguments") / "run"
    with journal.init(path, durability="os") as made:
        made.append("set", SET, id="k")
        yield made


def _log(j: journal.Engine) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in (j.path / "log").iterdir()}


@pytest.mark.parametrize("name", WRITING | READING)
def test_a_call_with_a_hostile_argument_answers_or_refuses_and_then_nothing_changed(
    engine: journal.Engine, name: str, tmp_path: Path
) -> None:
    call = (WRITING | READING)[name]
    refused: list[str] = []
    for number, value in enumerate(HOSTILE.values()):
        before, seq = _log(engine), engine.seq
        try:
            call(engine, value, tmp_path / str(number))
        except journal.JournalError as error:
            refused.append(str(error))
            assert (_log(engine), engine.seq) == (before, seq)
    assert refused, "a table of hostile values that refuses nothing tests nothing"
    assert all(refused)
    assert engine.verify().ok


@pytest.mark.parametrize(
    ("call", "option"), [(call, option) for call, names in OPTIONS.items() for option in names]
)
def test_a_hostile_option_is_refused_before_anything_is_made(
    call: Callable[..., journal.Engine], option: str, tmp_path: Path
) -> None:
    if call is journal.open:
        journal.init(tmp_path / "run").close()
    refused: list[str] = []
    for number, value in enumerate(HOSTILE.values()):
        path = tmp_path / ("run" if call is journal.open else str(number))
        try:
            call(path, **{option: value}).close()
        except journal.JournalError as error:
            refused.append(str(error))
            assert call is journal.open or not (path / "journal.yaml").exists()
    assert len(refused) > len(HOSTILE) // 2
    assert all(refused)


@pytest.mark.parametrize("call", [journal.open, journal.init])
@pytest.mark.parametrize("path", [5, None, b"x", "a\0b", "\ud800", [], object()])
def test_what_is_no_path_is_refused_by_name(call: Callable[..., Any], path: Any) -> None:
    with pytest.raises(UsageError, match="path") as caught:
        call(path)
    assert caught.value.key == "path"


@pytest.mark.parametrize(
    ("name", "value", "key"),
    [
        ("execute(id)", 5, "id"),
        ("append(actor)", 5, "actor"),
        ("append(id)", 0, "id"),
        ("append(id)", None, "id"),
        ("append(expected_seq)", "1", "expected_seq"),
        ("append(cause)", True, "cause"),
        ("state_at", 1.5, "at"),
        ("state_at", True, "at"),
        ("events(after)", -1, "after"),
        ("events([type])", "\ud800", "types"),
        ("fork([change])", 5, "changes"),
    ],
)
def test_a_refusal_names_the_argument_and_shows_its_value(
    engine: journal.Engine, name: str, value: Any, key: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        (WRITING | READING)[name](engine, value, tmp_path / "fork")
    assert caught.value.key == key


def test_a_cause_is_an_event_before_its_own_of_the_same_append_or_an_earlier_one(
    engine: journal.Engine,
) -> None:
    assert engine.append("set", SET, cause=engine.seq).cause == engine.seq - 1
    due = engine.seq + 1
    second = journal.Draft(type="set", data=SET, cause=due)
    assert engine.append_batch([("set", SET), second])[1].cause == due
    for cause in (engine.seq + 1, engine.seq + 100):
        with pytest.raises(UsageError, match=f"cause {cause} is no event before"):
            engine.append("set", SET, cause=cause)


@pytest.mark.slow
def test_copies_of_the_root_into_itself_are_refused_before_the_work_is_done(
    tmp_path: Path,
) -> None:
    with journal.init(tmp_path / "run", durability="os") as j:
        j.append("set", {"path": "/x", "value": "y" * 1000})
        copies = [{"op": "copy", "from": "", "path": f"/a{n}"} for n in range(60)]
        with pytest.raises(UsageError, match="copies would make more than"):
            j.append("patch", {"patch": copies})
        with pytest.raises(UsageError, match="copies would make more than"):
            j.append_batch([("patch", {"patch": [copy]}) for copy in copies])
        assert j.state == {"x": "y" * 1000}


def test_an_anchor_beyond_the_end_says_that_the_log_is_shorter(tmp_path: Path) -> None:
    with journal.init(tmp_path / "run") as j:
        assert "shorter" in j.verify([(9, "a" * 64)]).advice[0]
        assert "rewritten" in j.verify([(1, "a" * 64)]).advice[0]


def test_a_umask_without_rights_for_the_owner_makes_usable_files(tmp_path: Path) -> None:
    before = os.umask(0o777)
    try:
        journal.init(tmp_path / "deep" / "run").close()
    finally:
        os.umask(before)
    for path in (tmp_path / "deep", *(tmp_path / "deep").rglob("*")):
        wanted = 0o700 if path.is_dir() else 0o600
        assert path.stat().st_mode & 0o777 & wanted == wanted, path

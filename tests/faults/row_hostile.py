"""Row 10: hostile JSON and YAML, as events, as files that are taken in, as settings, as log lines.

I1  An event is refused before a byte is written, or comes back exactly, also after a replay.
I2  Whatever a file holds, reading it gives a value or an error of the error tree. A value that was
    read can be an event, or is refused as one.
I3  Whatever a segment holds, reading it tells every byte of it once, in order, as good lines or as
    damage; good lines decode.
I4  Memory is bounded: a small input never makes a large one.
I5  Whatever a journal's log holds, reading, verifying, opening and repairing it end well or in an
    error of the error tree; reading changes nothing.
"""

import itertools
import multiprocessing
import os
import random
import resource
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis import given as given_values

import journal
from journal import codec, segment, sifting
from journal import config as configs
from journal.engine import repairing
from journal.errors import JournalError
from journal.segment import Block, Segment, name_of
from projections import patch
from projections.foreign import json_scanner, json_text, suffix, yaml_builder, yaml_text
from tests.faults import fuzzing
from tests.faults.row import Outcome, Row, Tier, Violation
from tests.faults.tree import File, memory_folder, read_tree, write_tree

RUNS = {"quick": (10_000, 1500), "full": (20_000_000, 200_000)}
"""Of the line reader, and of each reader of foreign text."""
DRAWN = {"quick": 400, "full": 100_000}
_GROWN_BYTES = 300 << 20
WATCHED = {"quick": (1, 100), "full": (20, 2500)}
"""Of how many inputs of the line reader one is traced, and one used as a whole journal's log."""
_LOG = frozenset({"log", configs.FILE_NAME})


def run(tier: Tier) -> Outcome:
    """Try every named case, then what a fuzzer finds; raises `Violation`."""
    lines, texts = RUNS[tier]
    before = _peak_bytes()
    with memory_folder() as folder:
        named = append_named(folder / "named")
        drawn = append_drawn(folder / "drawn", DRAWN[tier])
        read = [
            fuzz_reader("JSON", _reader("x.json"), JSON_SEEDS, [json_text, json_scanner], texts),
            fuzz_reader("JSONL", _reader("x.jsonl"), JSON_SEEDS, [json_text], texts),
            fuzz_reader("YAML", _reader("x.yaml"), YAML_SEEDS, [yaml_text, yaml_builder], texts),
            fuzz_settings(folder / "settings", texts),
        ]
        found = fuzz_lines_at_once(folder / "lines", lines, tier)
    grown = _peak_bytes() - before
    if grown > _GROWN_BYTES:
        raise Violation(f"memory grew by {grown:,} bytes (I4)")
    notes = [f"{named} named values and texts appended, each refused or read back exactly"]
    notes.append(f"{drawn:,} values that Hypothesis drew appended, each refused or read back")
    notes += [f"{name}: {one.runs:,} runs, {one.ways:,} ways" for name, one in read]
    notes.append(
        f"the line reader: {found.runs:,} runs, {found.kept} inputs kept, {found.ways:,} ways"
        f" (the most of one process)"
    )
    return Outcome(
        named + drawn + sum(one.runs for _, one in read) + found.runs, notes=tuple(notes)
    )


def _peak_bytes() -> int:
    own, others = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return max(resource.getrusage(whose).ru_maxrss for whose in (own, others)) << 10


# --- named values and texts ----------------------------------------------------------------------


class _Odd:
    """Not a JSON value."""


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _own() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


VALUES: list[Any] = [
    *(None, True, False, 0, -0.0, 1, 1.0, -1, 1e308, 5e-324, 0.1, 2**53 + 1, 2**63 - 1, -(2**63)),
    *(2**64 - 1, 2**64, -(2**63) - 1, 10**400, float("inf"), float("-inf"), float("nan"), 1j),
    *(
        "",
        "\0",
        "\x7f",
        "\u2028\u2029\x85",
        "\ufeff",
        "\ufffe",
        "e\u0301",
        "😀",
        "\ud800",
        "\udfff\ud800",
    ),
    *(
        '"\\/\b\f\n\r\t',
        "a" * 200_000,
        "__proto__",
        "\x1b[31m",
        "<<<<<<< ours\n",
        '","crc":"00000000"}\n',
    ),
    *(
        [],
        {},
        [[]],
        {"": {"": ""}},
        {"a": 1, "A": 2},
        {"~": 1, "/": 2, "~1": 3},
        {"é": 1, "e\u0301": 2},
    ),
    *(
        {1: 2},
        {None: 1},
        {True: 1},
        {"\ud800": 1},
        {b"a": 1},
        b"bytes",
        {1, 2},
        (1, 2),
        _Odd(),
        _Odd,
    ),
    *(_deep(10), _deep(100), _deep(1000), _deep(100_000), _own(), [0] * 50_000, range(3)),
]

TEXTS = [
    *(
        b"1 2",
        b"{",
        b"[1,]",
        b"{'a':1}",
        b'{"a":1,"a":2}',
        b"NaN",
        b"Infinity",
        b"-",
        b"01",
        b"1e999",
    ),
    *(b"-1e999", b"9" * 5000, b"0." + b"9" * 5000, b"[" * 100_000, b'{"a":' * 5000, b'"\\ud800"'),
    *(
        b'"\\u0000"',
        b'"\x01"',
        b"\xef\xbb\xbf1",
        b"\xff\xfe1\0",
        b"\xff",
        b'"\xed\xa0\x80"',
        b"nul",
    ),
    *(b"true false", b"/* c */1", b"1 // c", b'"a\nb"', b"\x00", b"", b" ", b'{"\\u0061":1,"a":2}'),
]


def append_named(path: Path) -> int:
    """Append every value and text, at several places; return how many were tried (I1)."""
    from journal.cli import given

    count = 0
    with journal.init(path) as engine:
        engine.append("set", {"path": "", "value": {}})
        for value in VALUES:
            for wrap in (
                lambda v: v,
                lambda v: [v],
                lambda v: {"k": v},
                lambda v: {"k": [{"v": v}]},
            ):
                _append(engine, wrap(value))
                count += 1
        for text in TEXTS:
            try:
                value = given.read_data(text.decode("utf-8", "surrogateescape"))
            except JournalError:
                pass
            else:
                _append(engine, value)
            count += 1
        state = engine.state
        if not patch.equal(engine.replay(), state) or not engine.verify().ok:
            raise Violation("what was taken is not what a replay gives (I1)")
    return count


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=20)
    | st.binary(max_size=3)
)
_DRAWN: st.SearchStrategy[Any] = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=5) | st.integers(0, 3), inner, max_size=4)
        | st.tuples(inner)
    ),
    max_leaves=12,
)


def append_drawn(path: Path, count: int) -> int:
    """Append values that Hypothesis draws, and makes small where a law does not hold (I1)."""
    tried = 0
    with journal.init(path, durability="os") as engine:
        engine.append("set", {"path": "", "value": {}})

        @settings(
            max_examples=count,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given_values(_DRAWN)
        def append(value: Any) -> None:
            nonlocal tried
            tried += 1
            _append(engine, value)

        append()
        if not patch.equal(engine.replay(), engine.state) or not engine.verify().ok:
            raise Violation("what was taken is not what a replay gives (I1)")
    return tried


def _append(engine: journal.Engine, value: Any) -> None:
    before = read_tree(str(engine.path))
    try:
        event = engine.append("set", {"path": "/v", "value": value})
    except JournalError:
        if read_tree(str(engine.path)) != before:
            raise Violation(f"{value!r:.80} was refused and something was written (I1)") from None
        return
    found = engine.state["v"]
    stored = next(engine.events(after=event.seq - 1)).data["value"]
    if not (patch.equal(found, stored) and _is_same(stored, value)):
        raise Violation(f"{value!r:.80} came back as {found!r:.80} (I1)")


def _is_same(stored: Any, given: Any) -> bool:
    """Whether it is the value given; a tuple is a list."""
    if isinstance(given, tuple):
        given = list(given)
    return patch.equal(stored, given)


# --- foreign texts -------------------------------------------------------------------------------

JSON_SEEDS = [
    b'{"a":[1,-2.5e3,true,false,null,"\\u00e9\\n"],"b":{"c":{}}}\n',
    b'[{"id":1},{"id":2,"t":"\xc3\xa9"}]\n{"x":1}\n',
    *TEXTS[:20],
]
YAML_SEEDS = [
    b"version: 1\nname: x\nsteps:\n  - id: a\n    depends_on: [b, 'c']\n  - {id: b, n: 1.10}\n",
    b"a: &a [1, 2]\nb: *a\nc: {<<: {x: 1}, y: 2}\nd: |\n  text\n  more\ne: >-\n  folded\n",
    b"--- !!map\n? complex\n: value\n...\n",
    b"a: &a [*a]\n",
    b"t: 2025-02-30\nn: 0o17\no: 0x1F\nb: yes\nf: .inf\nm: 1_000\n",
    b"format: 1\nprojection: document\ndurability: always\nviews: {every_ms: 0}\n",
]
_WORDS = [
    *(
        b'"',
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"\n",
        b"\r\n",
        b"\t",
        b" ",
        b"\0",
        b"\\u",
        b"1e999",
    ),
    *(
        b"&a ",
        b"*a",
        b"<<: ",
        b"!!python/object:os.system ",
        b"!!binary ",
        b"---\n",
        b"...\n",
        b"%YAML 9",
    ),
    *(
        b"- ",
        b"? ",
        b"| \n",
        b">\n",
        b"# ",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\xe2\x80\xa8",
        b"\xc2\x85",
    ),
    *(
        b"null",
        b"~",
        b"NaN",
        b"-0",
        b"9" * 40,
        b'"crc":"',
        b'"seq":',
        b'"part":[1,2]',
        b"\xed\xa0\x80",
    ),
]
_LINE_WORDS = [
    *(b'{"seq":', b'{"seq":3,', b'"type":"journal.lost","data":{"upto":', b'"type":"journal.'),
    *(b"rotated", b"restored", b"repaired", b"adopted", b"checkpoint", b"forked", b"pruned"),
    *(
        b'"data":{"state":',
        b'"data":{"patch":',
        b'"data":null',
        b"0",
        b"-1",
        b"1e9",
        b"true",
        b"[]",
    ),
    *(b'"time":"9999-12-31T23:59:59.999Z"', b'"part":[2,2]', b'"part":[1,9]', b'"unsynced":99'),
    *(
        b'"cause":',
        b'"id":"k"',
        b'"actor":1',
        b'"seq":18446744073709551616',
        b"}\n{",
        b'{"repairs":[{}]}',
    ),
]
_MUTATORS = (
    fuzzing.flip,
    fuzzing.cut,
    fuzzing.double,
    fuzzing.shuffle_lines,
    fuzzing.put_in(_WORDS),
)


def _reader(name: str) -> Callable[[bytes], Any]:
    return lambda data: suffix.read_document(data, path=name, lenient=len(data) % 2 == 0).value


def fuzz_reader(
    name: str, read: Callable[[bytes], Any], seeds: list[bytes], traced: list[Any], runs: int
) -> tuple[str, fuzzing.Fuzzed]:
    """Read changed texts; what was read must be fit for an event, or be refused as one (I2)."""

    def target(data: bytes) -> None:
        try:
            value = read(data)
            encoded = codec.encode_value(value)
        except JournalError:
            return
        if not patch.equal(codec.decode_value(encoded), value):
            raise Violation(f"{value!r:.80} does not come back from its line (I2)")

    return name, fuzzing.fuzz(target, seeds=seeds, mutators=_MUTATORS, traced=traced, runs=runs)


def fuzz_settings(folder: Path, runs: int) -> tuple[str, fuzzing.Fuzzed]:
    """Read changed settings: they are settings, or refused (I2)."""
    with journal.init(folder):
        pass
    path = folder / configs.FILE_NAME

    def target(data: bytes) -> None:
        path.write_bytes(data)
        try:
            configs.read(folder)
        except JournalError:
            pass

    seeds = [path.read_bytes(), *YAML_SEEDS]
    found = fuzzing.fuzz(target, seeds=seeds, mutators=_MUTATORS, traced=[configs], runs=runs)
    return "journal.yaml", found


# --- log lines -----------------------------------------------------------------------------------


def fuzz_lines_at_once(folder: Path, runs: int, tier: Tier) -> fuzzing.Fuzzed:
    """Fuzz the line reader in one process a core, each from a seed of its own."""
    workers = len(os.sched_getaffinity(0)) if tier == "full" else 1
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        asked = [
            pool.submit(_fuzz_apart, folder / str(seed), runs // workers, *WATCHED[tier], seed)
            for seed in range(1, workers + 1)
        ]
        found = [one.result() for one in asked]
    most = max(found, key=lambda one: one.ways)
    return most._replace(runs=sum(one.runs for one in found))


def _fuzz_apart(
    folder: Path, runs: int, traced_every: int, used_every: int, seed: int
) -> fuzzing.Fuzzed:
    folder.mkdir(parents=True)
    try:
        return fuzz_lines(folder / "lines", runs, traced_every, used_every, seed)
    except Exception as error:  # noqa: BLE001 - not every error can be handed to another process
        raise Violation("".join(traceback.format_exception(error))) from None


def fuzz_lines(
    folder: Path, runs: int, traced_every: int = 1, used_every: int = 100, seed: int = 1
) -> fuzzing.Fuzzed:
    """Read changed segments, half of them with CRCs that fit (I3)."""
    with journal.init(folder) as engine:
        engine.append_batch([("set", {"path": f"/{n}", "value": "é"}) for n in range(3)], actor="a")
        engine.append("merge", {"patch": {"a": None}}, id="k")
        engine.snapshot()
        engine.restore(3)
    whole = (folder / "log" / name_of(1)).read_bytes()
    subject = folder.with_name("subject")
    tree = read_tree(str(folder))
    path = folder / "segment" / name_of(1)
    path.parent.mkdir()
    number = itertools.count(1)

    def target(data: bytes) -> None:
        path.write_bytes(data)
        with Segment(path) as subject:
            check_pieces(subject, data)
        sifting.salvage(data, 0)
        if next(number) % used_every == 0:
            with_new(data)

    def with_new(data: bytes) -> None:
        for witnessed in (True, False):
            left = {name: file for name, file in tree.items() if witnessed or name in _LOG}
            write_tree(str(subject), {**left, f"log/{name_of(1)}": File(data)})
            try:
                use_journal(subject)
            except Exception as error:
                error.add_note(f"the log was {data!r}, witness and view there: {witnessed}")
                raise

    return fuzzing.fuzz(
        target,
        with_new=with_new,
        seeds=[whole, whole[: len(whole) // 2], whole.replace(b"\n", b"\r\n")],
        mutators=(*_MUTATORS, fuzzing.put_in(_LINE_WORDS), _seal, _seal),
        traced=[sifting, segment, codec],
        runs=runs,
        seed=seed,
        traced_every=traced_every,
    )


def use_journal(path: Path) -> None:
    """Do with a journal what can be done with one whose log may be anything (I5)."""
    before = read_tree(str(path))
    acts: tuple[Callable[[journal.Engine], object], ...] = (
        lambda engine: list(engine.events()),
        lambda engine: engine.state,
        lambda engine: engine.state_at(2),
        lambda engine: engine.state_at("2026-03-01T00:00:00Z"),
        lambda engine: engine.head(),
        lambda engine: engine.status(),
        lambda engine: engine.verify(),
    )
    try:
        with journal.open(path, read_only=True) as engine:
            for act in acts:
                with suppress(JournalError):
                    act(engine)
    except JournalError:
        pass
    with suppress(JournalError):
        repairing.plan(path)
    if read_tree(str(path)) != before:
        raise Violation("reading it changed something (I5)")
    with suppress(JournalError), journal.open(path, on_drift="replace") as engine:
        engine.append("set", {"path": "/new", "value": 1})
        return
    with suppress(JournalError):
        repairing.repair(path, skip_lost=True)
        with journal.open(path, on_drift="replace") as engine:
            engine.append("set", {"path": "/new", "value": 1})


def check_pieces(subject: Segment, data: bytes) -> None:
    """Read a segment piece by piece; the pieces are the whole of it, once and in order (I3)."""
    try:
        start = subject.start
    except JournalError:
        return
    reached = 0
    for piece in sifting.decoded(subject, start, len(data)):
        first, end = (
            (piece.before.offset, piece.after.offset)
            if isinstance(piece, Block)
            else (piece.offset, piece.end)
        )
        if first != reached or end <= first or (isinstance(piece, Block) and not _is_good(piece)):
            raise Violation(f"a piece from {first} to {end} follows byte {reached} (I3)")
        reached = end
    if reached != len(data):
        raise Violation(f"what stands from byte {reached} to {len(data)} was not told (I3)")


def _is_good(block: Block) -> bool:
    return all(1 <= event.seq <= 2**63 for event in codec.decode_events(block.data))


def _seal(data: bytes, rng: random.Random) -> bytes:
    """Give each line a crc that fits, as a forger would."""
    bodies = []
    for line in data.splitlines(keepends=True):
        body = line.removesuffix(b"\n")
        found = codec.LINE_TAIL.search(line)
        bodies.append(body[: -codec.SUFFIX_BYTES + 1] if found else body)
    return bytes(codec.seal(bodies, 0)[0])


ROW = Row(10, "hostile JSON and YAML: named cases, and what a fuzzer led by coverage makes", run)

"""The snapshot file: what is written reads back equal, and what is not whole is refused."""

import hashlib
import json
import os
import zlib
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from journal.errors import Corrupt, UsageError
from snapshots import snapshot

STATE = {"phase": "plan", "tasks": [{"id": 1, "done": False}], "é": 1.0}
TIME = "2026-03-01T14:45:00.000Z"
NAME = "00000000000000000120.manual.json"

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
EXTRAS = st.dictionaries(TEXTS.filter(lambda key: key not in snapshot.RESERVED), VALUES, max_size=3)


def made(state: Any = STATE, **changes: Any) -> bytes:
    arguments: dict[str, Any] = {
        "type": "manual",
        "timestamp": TIME,
        "trigger": "phase: plan → critique",
        "seq": 120,
        "projection": "document",
        "revision": "r1",
        "state_bytes": orjson.dumps(state),
    }
    return snapshot.encode(**(arguments | changes))


def forged(header: dict[str, Any], state: bytes = b"{}") -> bytes:
    """A file whose checks are right although `encode` would not write it."""
    head = orjson.dumps(header | {"sha256": hashlib.sha256(state).hexdigest()})[:-1]
    return b'%b,"crc":"%08x","state":%b}\n' % (head, zlib.crc32(head), state)


HEADER = {
    "checkpoint_type": "manual",
    "timestamp": TIME,
    "trigger": "",
    "seq": 120,
    "projection": "document",
    "revision": "r1",
    "sha256": "",
}


# --- what is written reads back ------------------------------------------------------------------


@settings(max_examples=60)
@given(state=VALUES, trigger=TEXTS, projection=TEXTS, revision=TEXTS, extra=EXTRAS)
@example(state=None, trigger='","state":', projection="", revision="", extra={"a": {"state": 1}})
def test_whatever_is_encoded_reads_back_equal_and_encodes_to_the_same_bytes(
    state: Any, trigger: str, projection: str, revision: str, extra: dict[str, Any]
) -> None:
    data = made(state, trigger=trigger, projection=projection, revision=revision, extra=extra)
    found = snapshot.decode(data, NAME)
    assert (found.trigger, found.projection, found.revision) == (trigger, projection, revision)
    assert orjson.dumps(found.state()) == orjson.dumps(state)
    again = {key: getattr(found, key) for key in ("type", "timestamp", "trigger", "seq")}
    assert data == snapshot.encode(
        **again,
        projection=found.projection,
        revision=found.revision,
        state_bytes=found.state_bytes,
        extra=found.extra,
    )


def test_the_bytes_of_the_format_are_these() -> None:
    assert made(extra={"human_summary": "0/1 tasks"}).decode() == (
        '{"checkpoint_type":"manual","timestamp":"2026-03-01T14:45:00.000Z",'
        '"trigger":"phase: plan → critique","seq":120,"projection":"document","revision":"r1",'
        '"sha256":"643d63e9da2189eb66ebde3dfe44a65026a0c373e67a67441a38ce9709aca5d6",'
        '"human_summary":"0/1 tasks","crc":"8a42554e",'
        '"state":{"phase":"plan","tasks":[{"id":1,"done":false}],"é":1.0}}\n'
    )


def test_any_json_reader_sees_the_members_and_the_sha256_of_the_state() -> None:
    data = made(extra={"plan_summary": {"task_count": 1}})
    found = json.loads(data)
    assert tuple(found) == (*snapshot.MEMBERS, "plan_summary", "crc", "state")
    assert found["state"] == STATE
    state_bytes = data.partition(b'"state":')[2].removesuffix(b"}\n")
    assert found["sha256"] == hashlib.sha256(state_bytes).hexdigest()


def test_each_state_handed_out_is_a_value_of_its_own() -> None:
    found = snapshot.decode(made(), NAME)
    for _ in range(3):
        state = found.state()
        assert state == STATE
        state["tasks"].append("changed by the caller")


def test_the_header_alone_is_the_header_of_the_whole(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(made(extra={"human_summary": "x" * 200_000}))
    header, whole = snapshot.read_header(path), snapshot.read(path)
    assert all(getattr(header, name) == getattr(whole, name) for name in header.__slots__)
    assert header.extra == {"human_summary": "x" * 200_000}
    assert header.size_bytes == path.stat().st_size


def test_reading_a_header_reads_little_of_a_large_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / NAME
    path.write_bytes(made(["x" * 1_000_000]))
    read_bytes = 0

    def counted(fd: int, count: int, offset: int) -> bytes:
        nonlocal read_bytes
        piece = pread(fd, count, offset)
        read_bytes += len(piece)
        return piece

    pread = os.pread
    monkeypatch.setattr(os, "pread", counted)
    assert snapshot.read_header(path).seq == 120
    assert 0 < read_bytes < 5_000


def test_a_summary_that_looks_like_the_seam_and_fits_its_crc_is_still_a_summary() -> None:
    before = made(extra={"x": {"a": 1, "b": 2}}).partition(b',"b":2')[0]
    crc = f"{zlib.crc32(before):08x}"
    extra = {"x": {"a": 1, "crc": crc, "state": {"not": "the state"}}}
    data = made(extra=extra)
    assert data.startswith(before + b',"crc":"' + crc.encode())
    found = snapshot.decode(data, NAME)
    assert (found.extra, found.state()) == (extra, STATE)


# --- what is not whole is refused ----------------------------------------------------------------


def refused(path: Path, data: bytes) -> Corrupt:
    path.write_bytes(data)
    with pytest.raises(Corrupt) as caught:
        snapshot.read(path)
    return caught.value


def is_refused(data: bytes) -> bool:
    try:
        snapshot.decode(data, NAME)
    except Corrupt:
        return True
    return False


def test_every_flipped_bit_is_refused() -> None:
    data = made(extra={"n": {"state": 1}})
    for offset in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[offset] ^= 1 << bit
            assert is_refused(bytes(flipped)), (offset, bit)


def test_every_cut_is_refused_by_both_readers(tmp_path: Path) -> None:
    data = made()
    path = tmp_path / NAME
    for length in range(len(data)):
        path.write_bytes(data[:length])
        for reader in (snapshot.read, snapshot.read_header):
            with pytest.raises(Corrupt):
                reader(path)


def test_every_byte_put_in_and_every_byte_left_out_is_refused() -> None:
    data = made()
    for offset in range(len(data) + 1):
        for byte in (b" ", b"0", b"}", b"\n", b'"'):
            assert is_refused(data[:offset] + byte + data[offset:]), (offset, byte)
        if offset < len(data):
            assert is_refused(data[:offset] + data[offset + 1 :]), offset


def test_every_run_of_nul_bytes_is_refused_with_its_offset(tmp_path: Path) -> None:
    data = made()
    for offset in range(0, len(data), 16):
        damaged = data[:offset] + b"\0" * len(data[offset : offset + 16]) + data[offset + 16 :]
        assert is_refused(damaged)
        error = refused(tmp_path / NAME, damaged[:-1] + b"\0")
        assert (error.offset, error.seq) == (offset, 120)
        assert "NUL" in error.why


def test_every_damage_of_the_header_is_refused_without_the_state(tmp_path: Path) -> None:
    data = made()
    path = tmp_path / NAME
    for offset in range(data.index(b'"state":') + 8):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :])
        with pytest.raises(Corrupt):
            snapshot.read_header(path)


@pytest.mark.parametrize(
    ("data", "why", "offset"),
    [
        (b"", "is empty", 0),
        (b"\0" * 300, "NUL", 0),
        (b"{}\n", "begins with other bytes", 0),
        (b'{"seq":7,"time":"x","crc":"88b79977"}\n', "begins with other bytes", 0),
        (made()[:200], "is cut off", 200),
        (made()[:9], "is cut off", 9),
        (made().replace(b"plan", b"plot", 1), "header fails its check", 0),
        (made().replace(b'"done":false', b'"done":true '), "the state has the sha256", 255),
        (made() + made(), "the state has the sha256", 255),
        (forged(HEADER, b'{"a":'), "the state is not JSON", 231),
        (forged(HEADER, b""), "the state is not JSON", 231),
        (forged(HEADER | {"seq": True}), "seq in the header is a bool", 0),
        (forged(HEADER | {"revision": None}), "revision in the header is a NoneType", 0),
        (forged({"checkpoint_type": "manual", **HEADER, "seq": 121}), "not what it is named", 0),
        (forged({"checkpoint_type": "manual", "seq": 120}), "does not begin with", 0),
    ],
)
def test_what_is_wrong_and_where_is_said(
    tmp_path: Path, data: bytes, why: str, offset: int
) -> None:
    error = refused(tmp_path / NAME, data)
    assert why in error.why
    assert (error.path, error.offset) == (str(tmp_path / NAME), offset)
    assert "Remove the file" in error.advice


@pytest.mark.parametrize("name", ["00000000000000000121.manual.json", "0" * 17 + "120.auto.json"])
def test_a_snapshot_under_the_name_of_another_is_refused(tmp_path: Path, name: str) -> None:
    assert "not what it is named" in refused(tmp_path / name, made()).why


def test_a_snapshot_under_a_name_of_no_meaning_is_read(tmp_path: Path) -> None:
    path = tmp_path / "copy of 120.json"
    path.write_bytes(made())
    assert snapshot.read(path).seq == snapshot.read_header(path).seq == 120


def test_a_file_larger_than_any_snapshot_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.touch()
    os.truncate(path, snapshot.MAX_FILE_BYTES + 1)
    for reader in (snapshot.read, snapshot.read_header):
        with pytest.raises(Corrupt, match="a snapshot has at most"):
            reader(path)


def test_a_symlink_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(made())
    (tmp_path / NAME).symlink_to("elsewhere")
    for reader in (snapshot.read, snapshot.read_header):
        with pytest.raises(OSError, match="symbolic links"):
            reader(tmp_path / NAME)


# --- what cannot be a snapshot is not written ----------------------------------------------------


@pytest.mark.parametrize(
    "type_name", ["manual", "auto", "pre-compact", "0", "a" * 40, "con", "phase-transition"]
)
def test_a_type_goes_into_the_name_and_comes_out_of_it(type_name: str) -> None:
    name = snapshot.name_of(7, type_name)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")
    assert snapshot.parse_name(name) == (7, type_name)
    assert snapshot.decode(made(type=type_name, seq=7), name).type == type_name


@pytest.mark.parametrize(
    "type_name", ["", "a:b", "CON", "x ", "-a", "a" * 41, "a.b", "../a", "a/b", "é", "a\n", "a_b"]
)
def test_a_type_that_is_no_file_name_everywhere_is_refused(type_name: str) -> None:
    with pytest.raises(UsageError, match="is not a checkpoint type"):
        made(type=type_name)
    assert snapshot.parse_name(f"{7:020d}.{type_name}.json") is None


def test_nobody_may_ask_for_the_type_of_the_policy() -> None:
    snapshot.check_type("auto")
    snapshot.check_type("manual", asked_for=True)
    with pytest.raises(UsageError, match="the engine takes by itself"):
        snapshot.check_type("auto", asked_for=True)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "LATEST",
        "120.manual.json",
        "00000000000000000120.manual.json\n",
        "00000000000000000120.manual.jsonl",
        ".00000000000000000120.manual.json.0011.journal-tmp",
        "00000000000000000000.manual.json",
        "99999999999999999999.manual.json",
        "٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠٠١٢٠.manual.json",
    ],
)
def test_other_names_are_not_names_of_snapshots(name: str) -> None:
    assert snapshot.parse_name(name) is None


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"seq": 0}, "seq"),
        ({"seq": 10**19}, "seq"),
        ({"timestamp": "2026-03-01"}, "timestamp"),
        ({"timestamp": "yesterday"}, ""),
        ({"trigger": "\ud800"}, "snapshot.trigger"),
        ({"extra": {"state": 1}}, "state"),
        ({"extra": {"crc": 1}}, "crc"),
        ({"extra": {"seq": 1}}, "seq"),
        ({"extra": {"n": float("nan")}}, "snapshot.n"),
        ({"extra": {"big": "x" * snapshot.MAX_HEADER_BYTES}}, "snapshot"),
        ({"state_bytes": b""}, "state"),
        ({"state_bytes": b'{"a":'}, "state"),
        ({"state_bytes": b"{}{}"}, "state"),
        ({"state_bytes": b'{\n"a":1}'}, "state"),
        ({"state_bytes": b'"\xff"'}, "state"),
        ({"state_bytes": b'{"a":NaN}'}, "state"),
    ],
)
def test_what_would_not_be_read_again_is_refused(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(UsageError) as caught:
        made(**changes)
    assert caught.value.key == key

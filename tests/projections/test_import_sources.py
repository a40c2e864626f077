"""Versions from a file with one version a line, and from a single file."""

import gzip
import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from projections.document.file import read_file
from projections.document.version import Problem, Version
from projections.document.versions import MAX_LINE_BYTES, read_versions

LINE: dict[str, Any] = {"n": 1, "time": "2025-01-31T12:00:00Z", "path": "a.json", "content": "{}"}


def write(path: Path, *lines: Any) -> Path:
    """Write a file of versions; what is not bytes is written as JSON."""
    path.write_bytes(b"".join(_line(line) + b"\n" for line in lines))
    return path


def _line(line: Any) -> bytes:
    return line if isinstance(line, bytes) else orjson.dumps(line)


def problems(source: Any) -> list[Problem]:
    return [item for item in source if isinstance(item, Problem)]


def versions(source: Any) -> list[Version]:
    return [item for item in source if isinstance(item, Version)]


# --- a file of versions --------------------------------------------------------------------------


def test_histories_are_read_whole_and_again_and_again(histories: list[Path]) -> None:
    for path in histories:
        if path.stat().st_size > 100_000:
            continue
        with gzip.open(path) as lines:
            raw = [orjson.loads(line) for line in lines]
        source = read_versions(path)
        assert source.total() == len(raw)
        for _ in range(2):
            assert not problems(source)
            found = versions(source)
            assert [v.n for v in found] == [line["n"] for line in raw]
            texts = [
                None if line.get("content") is None else line["content"].encode() for line in raw
            ]
            assert [v.content for v in found] == texts
            assert [v.author for v in found] == [line["actor"] for line in raw]


def test_each_way_to_give_a_content_is_read(tmp_path: Path) -> None:
    head = {"n": 1, "time": "2025-01-31T12:00:00Z"}
    path = write(
        tmp_path / "h.jsonl",
        {**head, "content": "\ufeff{}"},
        {**head, "content": None},
        {**head, "content_b64": "/w=="},
        {**head, "value": None},
        {**head, "value": {"a": [1.0]}, "warnings": ["line 1: a BOM"]},
        {**head, "content": "{", "why": "cut", "parents": [1]},
    )
    bom, deleted, binary, null, value, broken = versions(read_versions(path))
    assert bom.content == b"\xef\xbb\xbf{}"
    assert deleted.content is None
    assert binary.content == b"\xff"
    assert null.value is None
    assert null.content is not None
    assert (value.value, value.warnings) == ({"a": [1.0]}, ("line 1: a BOM",))
    assert (broken.content, broken.why) == (b"{", "cut")


def test_bad_lines_are_told_with_their_number_and_the_others_are_read(tmp_path: Path) -> None:
    without_id = {name: value for name, value in LINE.items() if name != "n"}
    bad: list[tuple[Any, str]] = [
        (without_id, "missing required field `n`"),
        ({**LINE, "n": 0}, ">= 1"),
        ({**LINE, "n": "2"}, "got `str` - at `n`"),
        ({**LINE, "n": True}, "got `bool`"),
        ({**LINE, "time": None}, "`time`"),
        ({**LINE, "value": 1}, "found content and value"),
        ({"n": 1, "time": LINE["time"]}, "found none"),
        ({"n": 1, "time": LINE["time"], "content_b64": "?"}, "base64"),
        (b"null", "got `null`"),
        (b'{"n":1', "end of the"),
        (b'{"n":1,"n":2,"time":"2025-01-31","content":""}', '"n"'),
        (b'{"n":1,"time":"2025-01-31","content":"\\ud800"}', "surrogate"),
        (b'{"n":1,"time":"2025-01-31","content":"\xff"}', "UTF-8"),
    ]
    path = write(tmp_path / "h.jsonl", LINE, *(line for line, _ in bad), LINE)
    found = list(read_versions(path))
    assert len(found) == len(bad) + 2
    assert isinstance(found[0], Version)
    assert isinstance(found[-1], Version)
    for number, (problem, (_, said)) in enumerate(zip(found[1:-1], bad, strict=True), 2):
        assert isinstance(problem, Problem)
        assert problem.place == f"{path}, line {number}"
        assert said in problem.why


def test_blank_lines_a_bom_and_crlf_are_passed_over(tmp_path: Path) -> None:
    line = orjson.dumps(LINE)
    path = write(tmp_path / "h.jsonl", b"\xef\xbb\xbf" + line + b"\r", b"", b" \r", line)
    assert [(v.n, v.place) for v in versions(read_versions(path))] == [
        (1, f"{path}, line 1"),
        (1, f"{path}, line 4"),
    ]
    assert not problems(read_versions(path))


def test_gzip_is_known_by_its_bytes_and_not_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "h.jsonl"
    path.write_bytes(gzip.compress(orjson.dumps(LINE)))
    assert len(versions(read_versions(path))) == 1
    assert versions(read_versions(write(tmp_path / "h.gz", LINE)))[0].content == b"{}"


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_damaged_gzip_gives_what_stands_before_and_a_problem(tmp_path: Path, damage: str) -> None:
    lines = b"".join(
        orjson.dumps({**LINE, "message": os.urandom(40).hex()}) + b"\n" for _ in range(3000)
    )
    packed = bytearray(gzip.compress(lines))
    if damage == "cut":
        del packed[len(packed) // 2 :]
    else:
        packed[-6] ^= 0xFF
    path = tmp_path / "h.jsonl.gz"
    path.write_bytes(packed)
    source = read_versions(path)
    found = list(source)
    last = found[-1]
    assert isinstance(last, Problem)
    assert f"after line {len(found) - 1}" in last.place
    assert "gzip data is damaged" in last.why
    assert len(versions(found)) == len(found) - 1 > 1000
    assert source.total() is None


def test_line_over_the_limit_is_a_problem_and_the_next_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("projections.document.versions.MAX_LINE_BYTES", 200)
    path = write(
        tmp_path / "h.jsonl",
        {**LINE, "content": "x" * 3_000_000},
        LINE,
        {**LINE, "content": "x" * 300},
    )
    first, second, third = read_versions(path)
    assert isinstance(first, Problem)
    assert "longer than" in first.why
    assert isinstance(second, Version)
    assert isinstance(third, Problem)
    assert MAX_LINE_BYTES > 200


def test_file_of_versions_that_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"h\.jsonl"):
        read_versions(tmp_path / "h.jsonl")


# --- one file ------------------------------------------------------------------------------------


def test_file_is_one_version_at_its_own_time(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(b"a: 1\n")
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    (version,) = read_file(path)
    assert version.n == 1
    assert version.time == "2023-11-14T22:13:20.123Z"
    assert (version.path, version.content, version.author) == ("plan.yaml", b"a: 1\n", "")
    assert version.where == str(path)


def test_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"state\.json"):
        read_file(tmp_path / "state.json")

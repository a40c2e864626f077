"""Ctrl-C, or a signal whose handler raises, in the middle of an append."""

import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import journal


def interrupt_in(function: str, file: str, number: int) -> None:
    """Raise `KeyboardInterrupt` at the so-manieth line that `function` of `file` runs."""
    left = [number]

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if (code.co_name, code.co_filename.rpartition("/")[2]) != (function, file):
            return trace if event == "call" else None
        if event == "line":
            left[0] -= 1
            if left[0] < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)


@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize(
    ("function", "file"), [("write", "writer.py"), ("add", "keys.py"), ("_stand_at", "writer.py")]
)
def test_an_id_is_appended_once_wherever_an_append_is_interrupted(
    tmp_path: Path, function: str, file: str, number: int
) -> None:
    with journal.init(tmp_path / "run") as j:
        j.append("set", {"path": "/list", "value": []}, id="first")
        interrupt_in(function, file, number)
        try:
            j.append("set", {"path": "/list/-", "value": 1}, id="key")
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        j.append("set", {"path": "/list/-", "value": 1}, id="key")
        assert j.state == {"list": [1]}
        assert j.verify().problems == []


@pytest.mark.parametrize("number", range(24))
def test_the_chain_is_true_wherever_hashing_is_interrupted(tmp_path: Path, number: int) -> None:
    with journal.init(tmp_path / "run") as j:
        text = "x" * 300_000
        for _ in range(8):
            j.append("set", {"path": "/x", "value": text})
        interrupt_in("_hash_to", "writer.py", number)
        try:
            for _ in range(6):
                j.append("set", {"path": "/x", "value": text})
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
    path = tmp_path / "run" / "journal.yaml"
    path.write_text(path.read_text().replace("segment_bytes: 67108864", "segment_bytes: 1000"))
    with journal.open(tmp_path / "run") as j:
        j.append("set", {"path": "/x", "value": 1})
        assert len(list((tmp_path / "run" / "log").glob("*.jsonl"))) == 2
        assert j.verify().problems == []


def test_damage_in_the_open_segment_is_named_when_it_would_be_closed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    journal.init(run).close()
    settings = run / "journal.yaml"
    settings.write_text(settings.read_text().replace("67108864", "3000"))
    with journal.open(run) as j:
        for number in range(5):
            j.append("set", {"path": "/x", "value": number})
        segment = run / "log" / "00000000000000000001.jsonl"
        data = segment.read_bytes()
        at = data.index(b'"value":1') + 8
        with segment.open("r+b") as log:
            log.seek(at)
            log.write(b"7")
        with pytest.raises(journal.Corrupt, match="line 3"):  # noqa: PT012 - one of them closes it
            for number in range(40):
                j.append("set", {"path": "/x", "value": number})

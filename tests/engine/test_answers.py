"""What an append of many events answers: a sequence of what the log has, decoded once looked at."""

from pathlib import Path
from typing import Any

import pytest

import journal
from journal import codec
from journal.log.answer import Answer


def _pairs(count: int) -> list[tuple[str, Any]]:
    return [("set", {"path": f"/k{number}", "value": [number, "é"]}) for number in range(count)]


def test_an_answer_is_what_the_log_has_however_it_is_looked_at(tmp_path: Path) -> None:
    with journal.init(tmp_path / "run") as j:
        first = j.append_batch(_pairs(5), actor="ann")
        again = j.append_batch(_pairs(5), actor="ann")
        recorded = list(j.events(after=1))
        assert first == recorded[:5]
        assert list(again) == recorded[5:]
        assert (len(first), first[0], first[-1]) == (5, recorded[0], recorded[4])
        assert first[1:3] == recorded[1:3]
        assert list(reversed(first)) == recorded[4::-1]
        assert recorded[2] in first
        assert recorded[2] not in again
        assert first.index(recorded[2]) == 2
        assert first != again
        assert repr(first) == repr(recorded[:5])
        with pytest.raises(IndexError):
            first[5]


def test_an_answer_nobody_looks_at_is_not_decoded_and_one_looked_at_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []
    real = codec.decode_events

    def counted(block: bytes) -> Any:
        decoded.append(len(block))
        return real(block)

    with journal.init(tmp_path / "run") as j:
        monkeypatch.setattr(codec, "decode_events", counted)
        answer = j.append_batch(_pairs(50))
        assert isinstance(answer, Answer)
        assert (len(answer), decoded) == (50, [])
        assert [event.seq for event in answer] == list(range(2, 52))
        assert answer[0] is answer[0]
        assert len(decoded) == 1


def test_an_answer_shares_nothing_with_what_was_given_or_with_the_state(tmp_path: Path) -> None:
    with journal.init(tmp_path / "run") as j:
        given = _pairs(2)
        answer = j.append_batch(given)
        given[0][1]["value"].append("later")
        answer[1].data["value"].append("later")
        assert answer[0].data["value"] == [0, "é"]
        assert j.state == {"k0": [0, "é"], "k1": [1, "é"]}
        assert [event.data["value"] for event in j.events(after=1)] == [[0, "é"], [1, "é"]]

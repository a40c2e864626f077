"""The fuzzer finds what is hidden behind several conditions, and the laws of its row can fail."""

import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from journal import codec, recovery
from tests.faults import fuzzing, row_hostile
from tests.faults.row import Violation


def hidden(data: bytes) -> None:
    if data[:1] != b"F":
        return
    if data[1:2] != b"U":
        return
    if data[2:3] == b"Z":
        raise ValueError("found")


def test_an_input_that_goes_a_new_way_is_kept_and_changed_further() -> None:
    letters = [bytes([n]) for n in range(ord("A"), ord("Z") + 1)]
    with pytest.raises(ValueError, match="found") as caught:
        fuzzing.fuzz(
            hidden,
            seeds=[b"abc"],
            mutators=[fuzzing.put_in(letters), fuzzing.cut],
            traced=[sys.modules[__name__]],
            runs=30_000,
        )
    assert caught.value.__notes__[0].startswith("the input was b'FUZ")


def test_a_reader_that_passes_damage_over_is_found(tmp_path: Path) -> None:
    def passing_over(*arguments: Any) -> Any:
        return (p for p in real(*arguments) if not isinstance(p, recovery.Damage))

    real = recovery.decoded
    with mock.patch.object(recovery, "decoded", passing_over), pytest.raises(Violation, match="I3"):
        row_hostile.fuzz_lines(tmp_path / "run", 500)


def test_an_error_outside_the_tree_is_found(tmp_path: Path) -> None:
    with (
        mock.patch.object(codec, "decode_event", side_effect=KeyError),
        pytest.raises(KeyError),
    ):
        row_hostile.fuzz_lines(tmp_path / "run", 500)

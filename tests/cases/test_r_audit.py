"""Group R: what an audit finds when somebody changed the log."""

from pathlib import Path

import pytest

from tests.cases.made import Made, make, readable, refused_as_corrupt


def problems(made: Made, *anchors: tuple[int, str]) -> list[tuple[str, int | None, str]]:
    with made.read() as engine:
        return [(one.kind, one.seq, one.message) for one in engine.verify(anchors).problems]


# --- R01: a cut tail is a valid chain ------------------------------------------------------------


def test_r01_a_tail_cut_at_a_line_edge_is_told_by_the_witness(tmp_path: Path) -> None:
    made = make(tmp_path, 6)
    made.put(made.lines()[:4])
    error = refused_as_corrupt(made, line=5, offset=made.log.stat().st_size)
    assert "events 5 to 6 are missing at the end" in error.why
    missing = [found for found in problems(made) if found[0] == "witness"]
    assert [(seq, "events 5 to 6 are missing at the end" in said) for _, seq, said in missing] == [
        (5, True)
    ]
    assert readable(made).seqs == [1, 2, 3, 4]


def test_r01_a_tail_cut_at_a_line_edge_is_told_by_an_anchor_alone(tmp_path: Path) -> None:
    made = make(tmp_path, 6)
    with made.read() as engine:
        head = engine.head()
    made.put(made.lines()[:4])
    made.forget()
    made.state.unlink()
    (found,) = [one for one in problems(made, (head.seq, head.sha256)) if one[0] == "anchor"]
    assert "event 6 was noted, and history ends at event 4" in found[2]
    assert "events 5 to 6 are missing at the end" in found[2]


# --- R02: edit, delete, swap, insert in the middle -----------------------------------------------


def edit(lines: list[bytes]) -> list[bytes]:
    return [*lines[:3], lines[3].replace(b'"value":4', b'"value":9'), *lines[4:]]


def delete(lines: list[bytes]) -> list[bytes]:
    return [*lines[:3], *lines[4:]]


def swap(lines: list[bytes]) -> list[bytes]:
    return [*lines[:3], lines[4], lines[3], *lines[5:]]


def double(lines: list[bytes]) -> list[bytes]:
    return [*lines[:3], lines[1], *lines[3:]]


@pytest.mark.parametrize(
    ("change", "said", "lost", "left"),
    [
        (edit, "the line of event 4 fails its check", "event 4", [1, 2, 3, 5, 6]),
        (delete, "event 5 where event 4 is due", "events 4 to 5", [1, 2, 3, 6]),
        (swap, "event 5 where event 4 is due", "no event", [1, 2, 3, 4]),
        (double, "event 2 where event 4 is due", "no event", [1, 2, 3, 4, 5, 6]),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_r02_a_change_in_the_middle_names_its_place_and_kind_once(
    tmp_path: Path, change: object, said: str, lost: str, left: list[int]
) -> None:
    made = make(tmp_path, 6)
    offset = made.offset(4)
    made.put(change(made.lines()))  # type: ignore[operator]
    error = refused_as_corrupt(made, line=4, offset=offset)
    assert error.seq == 4
    assert error.why.startswith(said)
    damage = [found for found in problems(made) if found[0] == "damage"]
    assert damage[0][1:] == (4, f"{said}; lost here: {lost}")
    # A swap is two places; nothing is a cascade of every line that follows.
    assert len(damage) == (2 if change is swap else 1)
    assert readable(made).seqs == left

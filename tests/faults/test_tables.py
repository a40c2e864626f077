"""The tables of a run, and when it fails though every law held."""

from pathlib import Path

import pytest

from tests.faults.__main__ import judge
from tests.faults.row import Lacking, Outcome, Row, Skipped, find_rows
from tests.faults.tables import Line, keep, tell


def line(number: int, count: int = 7, lacking: Lacking | None = None) -> Line:
    skipped = () if lacking is None else (Skipped("xfs", "for a reason", lacking),)
    outcome = Outcome(count, skipped, ("a note",))
    return Line(Row(number, f"title {number}", lambda _: outcome), outcome, 1.4)


def broken(number: int) -> Line:
    return line(number)._replace(outcome=None)


def test_every_row_of_the_table_has_a_number_and_none_is_missing() -> None:
    assert [row.number for row in find_rows()] == list(range(1, 16))


@pytest.mark.parametrize(
    ("lacking", "in_ci", "code"),
    [
        (None, True, 0),
        ("right", False, 0),
        ("right", True, 0),
        ("tool", False, 0),
        ("tool", True, 1),
        ("nothing", False, 1),
        ("nothing", True, 1),
    ],
)
def test_run_fails_where_something_was_skipped_that_could_have_run(
    lacking: Lacking | None, in_ci: bool, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judge([line(1), line(6, lacking=lacking)], in_ci=in_ci) == code
    assert ("row 6, xfs was skipped and could have run" in capsys.readouterr().err) == bool(code)


def test_run_fails_where_a_law_did_not_hold() -> None:
    assert judge([line(1), broken(2)], in_ci=False) == 1


def test_tables_tell_what_was_tried_and_what_was_not_and_why() -> None:
    said = tell([line(1, 12_345), line(6, 7, "right"), broken(9)], "quick")
    assert "| 1 | title 1 | 12,345 | 1 |" in said
    assert "| 6 | title 6 | 7; not xfs | 1 |" in said
    assert "| 9 | title 9 | **a law did not hold** | 1 |" in said
    assert "| 6 | xfs | for a reason |" in said
    assert "12,352 faults in 4 s" in said
    assert "Nothing was skipped." in tell([line(1)], "quick")


def test_page_keeps_the_lines_of_other_rows_and_of_the_other_tier(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- tried: quick -->\n<!-- end -->\nbetween\n"
        "<!-- tried: full -->\n| 1 | x | 9 | 9 |\n<!-- end -->\nafter\n"
    )
    keep(page, [line(2), line(11, 5)], "quick")
    keep(page, [line(2, 8)], "quick")
    assert page.read_text() == (
        "before\n<!-- tried: quick -->\n"
        "| row | what is done | tried | seconds |\n|---|---|---|---|\n"
        "| 2 | title 2 | 8 | 1 |\n| 11 | title 11 | 5 | 1 |\n<!-- end -->\nbetween\n"
        "<!-- tried: full -->\n| 1 | x | 9 | 9 |\n<!-- end -->\nafter\n"
    )


def test_page_that_is_not_there_is_made_and_one_without_the_place_is_refused(
    tmp_path: Path,
) -> None:
    keep(tmp_path / "new.md", [line(3)], "full")
    assert "| 3 | title 3 | 7 | 1 |" in (tmp_path / "new.md").read_text()
    with pytest.raises(ValueError, match="tried: quick"):
        keep(tmp_path / "new.md", [line(3)], "quick")

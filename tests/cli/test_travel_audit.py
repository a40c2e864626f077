"""`audit`, anchors from a file, and `export` in other formats."""

import csv
import importlib
import io
from pathlib import Path

import pytest

from tests.cli.command import Run
from tests.cli.test_commands import damage

SHA = "0" * 64


# --- audit ---------------------------------------------------------------------------------------


def test_audit_is_markdown_by_itself(journal: Run) -> None:
    shown = journal("audit")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith("# Audit of run\n")
    for heading in ("## Whole?", "## Types", "## Actors", "## Longest gaps", "## Segments"):
        assert f"\n{heading}\n" in shown.out


def test_audit_goes_to_a_file_by_its_name(journal: Run) -> None:
    for name, start in (("a.html", "<!doctype html>"), ("a.md", "# Audit"), ("a", "# Audit")):
        done = journal("audit", "-o", name)
        assert (done.code, done.out) == (0, "")
        assert f"written: {name}" in done.err
        assert Path(name).read_text().startswith(start)
    journal("audit", "--output", "b", "--format", "html")
    assert Path("b").read_text().startswith("<!doctype html>")
    assert journal("audit", "--format", "pdf").code == 2


def test_audit_as_json_has_one_shape(journal: Run) -> None:
    plain, verified = journal("audit", "--json").json, journal("audit", "--json", "--verify").json
    assert list(plain) == list(verified)
    assert plain["verified"] is None
    assert verified["verified"]["ok"] is True
    assert plain["events"] == 4
    assert {one["name"]: one["count"] for one in plain["types"]} == {"journal.created": 1, "set": 3}


def test_audit_of_a_damaged_journal_reports_and_exits_5(journal: Run) -> None:
    damage(3)
    shown = journal("audit")
    assert shown.code == 5
    assert "**damage**" in shown.out
    found = journal("audit", "--json").json
    assert (found["events"], len(found["problems"])) == (3, 1)
    checked = journal("verify", "--json").json
    assert found["problems"] == [p for p in checked["problems"] if p["kind"] == "damage"]


def test_audit_takes_anchors(journal: Run) -> None:
    head = journal("head").out.strip()
    assert "verified" in journal("audit", "--anchor", head).out.lower()
    wrong = journal("audit", "--anchor", f"2:{SHA}")
    assert wrong.code == 5
    assert "**anchor**" in wrong.out


# --- anchors -------------------------------------------------------------------------------------


def test_anchors_come_from_a_file_as_head_prints_them(journal: Run) -> None:
    lines = ["# noted on Monday", ""]
    for at in ("1", "2", "head"):
        lines += [journal("head", "--at", at).out, journal("head", "--at", at, "--json").out]
    Path("heads.txt").write_text("\n".join(lines))
    assert journal("verify", "--anchors", "heads.txt").code == 0
    assert journal("verify", "--anchors", "-", stdin="\n".join(lines)).code == 0
    Path("heads.txt").write_text("\n".join([*lines, f"3:{SHA}"]))
    found = journal("verify", "--anchors", "heads.txt", "--anchor", f"2:{SHA}", "--json")
    assert found.code == 5
    assert [(p["kind"], p["seq"]) for p in found.json["problems"]] == [("anchor", 2), ("anchor", 3)]


@pytest.mark.parametrize("line", ["3", "x:y", f"{SHA}:3", '{"seq": 3}', "{"])
def test_a_line_that_is_no_anchor_is_named(journal: Run, line: str) -> None:
    Path("heads.txt").write_text(f"{journal('head').out}\n{line}\n")
    asked = journal("verify", "--anchors", "heads.txt")
    assert (asked.code, asked.out) == (2, "")
    assert "heads.txt, line 3" in asked.err
    assert journal("verify", "--anchors", "missing").code == 1


# --- export --------------------------------------------------------------------------------------


def test_events_are_exported_as_csv_and_cloud_events(journal: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(journal("export", "--format", "csv").out)))
    assert [row["seq"] for row in rows] == ["1", "2", "3", "4"]
    events = journal("export", "--format", "cloudevents", "--after", "2").lines
    assert [event["id"] for event in events] == ["3", "4"]
    assert journal("export").out == journal("export", "--format", "jsonl").out


def test_events_are_exported_as_parquet_to_a_file(journal: Run) -> None:
    done = journal("export", "--format", "parquet", "-o", "events.parquet", "--upto", "3")
    assert (done.code, done.out) == (0, "")
    table = importlib.import_module("pyarrow.parquet").read_table("events.parquet")
    assert table["seq"].to_pylist() == [1, 2, 3]


def test_every_format_goes_to_a_file(journal: Run) -> None:
    for form in ("jsonl", "csv", "cloudevents"):
        assert journal("export", "--format", form, "-o", "out").code == 0
        assert Path("out").read_text() == journal("export", "--format", form).out
    assert journal("export", "versions", "-o", "out").code == 0
    assert Path("out").read_text() == journal("export", "versions").out


def test_versions_have_one_format_and_unknown_ones_are_refused(journal: Run) -> None:
    for args in (("versions", "--format", "csv"), ("--format", "xml"), ("nothing",)):
        asked = journal("export", *args)
        assert (asked.code, asked.out) == (2, "")

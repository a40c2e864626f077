"""What is written is what the name of its file promises."""

from pathlib import Path

import pytest

from tests.cli.command import Run

PAGE, WORDS = "<!doctype html>", "# Audit"
PROMISES = [
    *((name, PAGE) for name in ("a.html", "a.htm", "a.HTML")),
    *((name, WORDS) for name in ("a.md", "a.markdown", "a.txt", "a", "some.dir/a")),
]


@pytest.mark.parametrize(("name", "start"), PROMISES)
def test_an_audit_is_written_as_its_name_says(journal: Run, name: str, start: str) -> None:
    Path("some.dir").mkdir()
    assert journal("audit", "-o", name).code == 0
    assert Path(name).read_text().startswith(start)


@pytest.mark.parametrize("name", ["a.pdf", "a.json", "a.jsonl", "a.docx", "a.1"])
def test_a_name_that_promises_something_else_is_refused_before_anything_is_read(
    journal: Run, name: str
) -> None:
    done = journal("audit", "-o", name)
    assert (done.code, done.out, Path(name).exists()) == (2, "", False)
    for words in (name, Path(name).suffix, ".html", ".md", "--format"):
        assert words in done.err
    assert ("--json" in done.err) == ("json" in name)


def test_an_option_that_names_the_format_is_stronger_than_the_name(journal: Run) -> None:
    for name in ("a.pdf", "a.md", "a.html"):
        assert journal("audit", "-o", name, "--format", "html").code == 0
        assert Path(name).read_text().startswith(PAGE)
        assert journal("audit", "-o", name, "--format", "markdown").code == 0
        assert Path(name).read_text().startswith(WORDS)
        assert journal("audit", "-o", name, "--json").code == 0
        assert Path(name).read_text().startswith("{")
    asked = journal("audit", "--json", "--format", "html")
    assert (asked.code, asked.out) == (2, "")


def test_an_export_is_written_as_its_name_says(journal: Run) -> None:
    for name, form in (("e.csv", "csv"), ("e.CSV", "csv"), ("e.jsonl", "jsonl"), ("e", "jsonl")):
        assert journal("export", "-o", name).code == 0
        assert Path(name).read_text() == journal("export", "--format", form).out
    assert journal("export", "-o", "e.parquet").code == 0
    assert Path("e.parquet").read_bytes().startswith(b"PAR1")
    assert journal("export", "-o", "e.csv", "--format", "jsonl").code == 0
    assert Path("e.csv").read_text() == journal("export").out
    assert journal("export", "versions", "-o", "v.csv").code == 2
    assert not Path("v.csv").exists()

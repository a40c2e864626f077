"""Group O: secrets. Nothing is redacted; the way out is a copy without them."""

from pathlib import Path

import pytest

from tests.cases.made import make, unchanged
from tests.cli.command import run

SECRET = "plainvalue123"
README = Path(__file__).parents[2] / "README.md"


@pytest.mark.parametrize("case", ["o01", "o02"])
def test_o01_o02_readme_says_that_nothing_is_redacted_and_what_to_keep_out(case: str) -> None:
    page = " ".join(README.read_text().split())
    assert "nothing is redacted" in page, case
    assert "keep secrets out of events" in page, case


def test_o04_redacting_is_refused_and_offers_a_copy_without_it(tmp_path: Path) -> None:
    made = make(tmp_path, 3)
    with unchanged(made):
        said = run("redact", "3", "--path", "/k", "-d", str(made.path))
    assert (said.code, said.out) == (2, "")
    for part in ("fork DEST --at head --drop SEQ", "--edit SEQ=JSON", "journal log --grep"):
        assert part in said.err


@pytest.mark.parametrize(
    "change",
    [["--drop", "3"], ["--edit", '3={"type":"set","data":{"path":"/k","value":"***"}}']],
    ids=["drop", "edit"],
)
def test_o04_no_byte_of_the_secret_is_in_the_copy(tmp_path: Path, change: list[str]) -> None:
    made = make(tmp_path, 2)
    with made.open() as engine:
        engine.append("set", {"path": "/k", "value": SECRET})
        engine.snapshot()
        engine.append("set", {"path": "/k", "value": 5})
    there = str(made.path)
    assert run("log", "-d", there, "--grep", SECRET, "--json").json["seq"] == 3
    copy = tmp_path / "copy"
    assert run("fork", str(copy), "-d", there, "--at", "head", *change).code == 0
    assert run("verify", "-d", str(copy)).code == 0
    assert run("state", "-d", str(copy)).out == '{\n  "k": 5\n}\n'
    found = [path for path in copy.rglob("*") if path.is_file()]
    assert any(path.suffix == ".jsonl" for path in found)
    assert not [path for path in found if SECRET.encode() in path.read_bytes()]

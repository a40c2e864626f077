"""What `log`, `diff`, `fork`, `blame` and `restore` say to people: no silence, no line too wide."""

from pathlib import Path

import orjson
import pytest

import journal as journals
from journal.cli import changes, output
from journal.cli.gist import gist
from journal.cli.widths import cut, fill, width_of
from journal.event import Event
from tests.cli.command import Run

# --- log -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--type", "TYPO"], "none is of type 'TYPO'; the types there: journal.created, set"),
        (["--actor", "eve"], "none is by actor 'eve'; the actors there: a0, a1, a2"),
        (["--grep", "zzz"], "events 1 to 4: none has 'zzz' in its line"),
        (["--type", "set", "--touching", "/m"], "is of type 'set' and changed what is at '/m'"),
        (["--type", "TYPO", "-n", "1", "--after", "2"], "looked at events 3 to 4: none"),
        (["--after", "4"], "history is from event 1, at 2"),
        (["--until", "2020-01-01"], "there is no event in that stretch"),
    ],
)
def test_a_log_that_lists_nothing_says_why_and_is_no_failure(
    journal: Run, args: list[str], words: str
) -> None:
    said = journal("log", *args)
    assert (said.code, said.out) == (0, "")
    assert words in said.err
    silent = journal("log", *args, "--json")
    assert silent == (0, "", "")


def test_a_log_that_lists_something_says_nothing(journal: Run) -> None:
    for args in ([], ["--type", "set"], ["-n", "0", "--type", "TYPO"]):
        assert journal("log", *args).err == ""


# --- an event in a few words ---------------------------------------------------------------------

PATCH = [
    {"op": "replace", "path": "/a", "value": 1},
    {"op": "add", "path": "/b/0", "value": "x"},
    {"op": "remove", "path": "/c"},
]
LISTED = '/a 1, /b/0 "x", /c removed'


@pytest.mark.parametrize(
    ("kind", "data", "words"),
    [
        ("imported", {"n": 3, "message": "why", "patch": PATCH}, f"v3: 3 values; why; {LISTED}"),
        ("imported", {"n": 4, "deleted": True}, "v4: the file was deleted"),
        ("imported", {"n": 5, "text": "{", "why": "cut off"}, "v5: kept as text, cut off"),
        ("imported", {"n": 6, "patch": []}, "v6: nothing changed"),
        ("imported", {"name": "of another"}, '{"name":"of another"}'),
        ("journal.restored", {"seq": 2, "reason": "r", "patch": PATCH[:1]}, "1 value; r; /a 1"),
        ("journal.taken_over", {"path": "s.json", "state": {}}, "s.json: the whole state"),
        ("patch", {"patch": PATCH}, LISTED),
        ("patch", {"patch": [{"op": "leap"}]}, '{"patch":[{"op":"leap"}]}'),
        ("patch", {"patch": [{"op": "move", "path": "/a", "from": "/b"}]}, "/a from /b"),
        ("set", {"path": "/a", "value": 1}, '{"path":"/a","value":1}'),
        ("imported", 7, "7"),
    ],
)
def test_an_event_with_a_patch_is_said_in_words(kind: str, data: object, words: str) -> None:
    said = gist(Event(seq=9, time="", type=kind, data=data), 200)
    assert said.endswith(words)
    assert width_of(gist(Event(seq=9, time="", type=kind, data=data), 30)) <= 30


def test_a_log_shows_what_an_imported_version_changed(run: Run, tmp_path: Path) -> None:
    with journals.init(tmp_path / "run") as engine:
        patch = [{"op": "replace", "path": "", "value": {"k": "x" * 500}}]
        engine.append("imported", {"n": 1, "path": "a.json", "message": "begun", "patch": patch})
    assert "v1: the whole state; begun; " in run("log", "-d", "run").out


# --- widths --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "plain", "日本語", "e\u0301tude", "a日b語c", "🙂🙂"])
def test_a_text_is_cut_and_filled_to_the_columns_that_it_takes(text: str) -> None:
    for columns in range(1, 12):
        assert width_of(cut(text, columns)) <= columns
        assert (cut(text, columns) == text) == (width_of(text) <= columns)
        if width_of(text) <= columns:
            assert width_of(fill(text, columns)) == columns


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let everything be a terminal of 40 columns that takes no colour."""
    monkeypatch.setattr(output, "is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.usefixtures("narrow")
def test_no_line_is_wider_than_a_narrow_terminal(run: Run, tmp_path: Path) -> None:
    with journals.init(tmp_path / "run") as engine:
        for number in range(3):
            texts = {"日本" * 3: "語" * 50 + str(number), "/p" * 20: "x" * 99, "n": [{"a": number}]}
            engine.append("merge", {"patch": texts}, actor="佐藤")
    for args in (
        ["log"],
        ["log", "--stat"],
        ["diff", "2", "head"],
        ["diff", "1", "head"],
        ["blame"],
        ["blame", ""],
        ["blame", "/n", "--depth", "2"],
    ):
        lines = run(*args, "-d", "run").out.splitlines()
        assert lines
        assert all(width_of(line) <= 40 for line in lines), (args, lines)


def test_of_long_texts_that_begin_alike_the_difference_is_seen() -> None:
    shown = changes.show_both("a" * 300 + "old" + "b" * 99, "a" * 300 + "new" + "b" * 99, 60)
    assert "old" in shown.partition(" -> ")[0]
    assert "new" in shown.partition(" -> ")[2]
    assert width_of(shown) <= 60


def test_blame_of_an_object_says_what_changed_in_it(journal: Run) -> None:
    value = {"path": "/o", "value": {"long": "x" * 300, "done": False}}
    journal("append", "set", orjson.dumps(value).decode())
    journal("append", "set", '{"path": "/o/done", "value": true}')
    first, second = journal("blame", "/o").out.splitlines()
    assert first.endswith("~ /done false -> true")
    assert "+ {" in second
    assert '"done":false' in second


# --- places, forks, restores ---------------------------------------------------------------------


def test_before_the_beginning_is_said_with_the_length_of_history(journal: Run) -> None:
    asked = journal("state", "--at", "head~30")
    assert asked.code == 2
    assert "head~30 lies before the beginning: history has only 4 events" in asked.err
    assert journal("state", "--at", "head~4", "--json").json == {}


def test_a_folder_alone_means_the_head_of_the_journal_in_it(journal: Run, run: Run) -> None:
    assert journal("fork", "other", "--at", "3").code == 0
    wanted = journal("diff", "head", "other@head", "--json").json
    assert journal("diff", "head", "other", "--json").json == wanted != []
    assert run("diff", "run", "other", "--json").json == wanted
    beyond = journal("diff", "head", "other@9")
    assert beyond.err.startswith("journal: other: there is no event 9")
    nowhere = journal("diff", "head", "nowhere")
    assert (nowhere.code, "DIR@PLACE is one in another journal" in nowhere.err) == (2, True)


def test_a_place_of_the_journal_goes_before_a_folder_of_that_name(journal: Run) -> None:
    for name in ("head", "3"):
        assert journal("fork", name, "--at", "2").code == 0
    assert journal("diff", "head", "3", "--json").json == [
        {"op": "replace", "path": "/n", "old": 2, "value": 1}
    ]
    assert journal("diff", "9", "head").code == 2


@pytest.mark.parametrize("option", ["--edit", "--insert"])
@pytest.mark.parametrize("value", ["2", "2=", "x"])
def test_a_change_without_its_event_is_refused_with_an_example(
    journal: Run, option: str, value: str
) -> None:
    asked = journal("fork", "f", option, value)
    seq = value.rstrip("=") if value[0] == "2" else "57"
    assert asked.code == 2
    assert f"Such as: {option} '{seq}={{" in asked.err
    example = asked.err.partition("Such as: ")[2].strip().split(" ", 1)[1].strip("'")
    if seq == "2":
        assert journal("fork", "f", option, example).code == 0


def test_fork_says_which_events_of_its_own_are_notes(journal: Run) -> None:
    assert journal("fork", "f", "--at", "3").out == (
        "f: 3 events shared, 1 event of its own: journal.forked\n"
    )
    assert journal("fork", "g", "--drop", "3").out == (
        "g: 2 events shared, 2 events of its own: "
        "journal.forked and 1 event of the changed history\n"
    )


def test_the_one_id_that_clashes_is_named(journal: Run) -> None:
    lines = [{"type": "set", "data": {"path": f"/{key}", "value": 1}, "id": key} for key in "xyz"]
    batch = b"\n".join(map(orjson.dumps, lines))
    assert journal("append", "--batch", "-", stdin=batch).code == 0
    event = '{"type": "set", "data": {"path": "/q", "value": 1}, "id": "%s"}'
    twice = journal("fork", "f", "--insert", f"3={event % 'y'}")
    assert "the id 'y' of event 6 (set) is that of an inserted event already" in twice.err
    taken = journal("fork", "f", "--edit", f"7={event % 'x'}")
    assert "the id 'x' of event 7 (set) is that of event 5 already" in taken.err
    after = journal("fork", "f", "--insert", f"7={event % 'z'}")
    assert "the id 'z' of an inserted event (set) is that of event 7 already" in after.err
    assert {twice.code, taken.code, after.code} == {2}
    assert not Path("f").exists()


def test_a_restore_to_what_is_says_that_nothing_was_appended(journal: Run) -> None:
    done = journal("restore", "head")
    assert (done.code, done.out) == (0, "")
    assert "already as it was after event 4: nothing was appended" in done.err
    assert len(journal("log", "--json").lines) == 4


def test_blame_of_what_was_restored_names_the_event_that_it_is_as_of(journal: Run) -> None:
    assert journal("restore", "2").code == 0
    (listed,) = journal("blame").out.splitlines()
    assert listed.endswith("journal.restored  /n  0  (as of event 2)")
    newest = journal("blame", "/n", "-n", "1").out
    assert newest.endswith("journal.restored  2 -> 0  (as of event 2)\n")
    (after,) = journal("blame", "/n", "--after", "3", "--upto", "4").out.splitlines()
    assert "as of" not in after


def test_a_monotone_search_that_finds_nothing_claims_no_more_than_it_saw(journal: Run) -> None:
    pytest.importorskip("jq")
    asked = journal("bisect", "--when", ".n == 0", "--monotone")
    assert (asked.code, asked.out) == (1, "")
    assert "it is not true after event 4; if once true it stays true, it never was" in asked.err
    assert "after none of them: events 1 to 4" in journal("bisect", "--when", ".n == 9").err

"""Every command once: what it does, what it prints, and the shape of its JSON."""

from pathlib import Path

import orjson
import pytest

from tests.cli.command import Ran, Run

HEAD = ["seq", "segment", "offset", "sha256"]
STATUS = [
    *("path", "id", "format", "projection", "durability", "seq", "time", "synced", "segments"),
    *("log_bytes", "state_bytes", "snapshots", "views", "unfinished_bytes", "unknown", "writer"),
    *("messages", "healthy"),
    "read_after",
]
SEGMENT = "00000000000000000001.jsonl"


def segment(folder: str = "run") -> Path:
    return Path(folder, "log", SEGMENT)


def damage(line: int, folder: str = "run") -> None:
    """Change one byte in a line (from 1) of the first segment."""
    lines = segment(folder).read_bytes().split(b"\n")
    lines[line - 1] = lines[line - 1].replace(b'"value"', b'"valu3"')
    segment(folder).write_bytes(b"\n".join(lines))


# --- init, append, checkpoint --------------------------------------------------------------------


def test_init_makes_a_journal_and_says_what_it_is(run: Run) -> None:
    made = run("init", "run", "--durability", "batch", "--views-every-ms", "50", "--json")
    assert made.code == 0
    assert list(made.json) == ["path", "id", "projection", "durability", "seq"]
    assert made.json["durability"] == "batch"
    assert made.json["seq"] == 1
    assert "every_ms: 50" in Path("run/journal.yaml").read_text()


def test_init_where_a_journal_is_changes_nothing(journal: Run, run: Run) -> None:
    before = segment().read_bytes()
    again = run("init", "run")
    assert (again.code, again.out) == (2, "")
    assert "there is a journal here already" in again.err
    assert segment().read_bytes() == before


def test_append_prints_the_stored_line(journal: Run) -> None:
    appended = journal("append", "set", '{"path": "/é", "value": [1.0, -0.0, 9007199254740993]}')
    assert appended.code == 0
    assert appended.err == ""
    assert segment().read_bytes().endswith(b"\n" + appended.out.encode())


def test_append_with_an_id_twice_prints_the_recorded_event(journal: Run) -> None:
    args = ("append", "set", '{"path": "/a", "value": 1}', "--id", "k-1", "--cause", "2")
    first, second = journal(*args), journal(*args)
    assert first.json["id"] == "k-1"
    assert first.json["cause"] == 2
    assert second == first


def test_append_reads_its_data_from_stdin(journal: Run) -> None:
    appended = journal("append", "merge", "-", stdin='{"patch": {"a": "ä"}}\n')
    assert appended.json["data"] == {"patch": {"a": "ä"}}


def test_batch_appends_all_lines_as_one(journal: Run) -> None:
    batch = Path("batch.jsonl")
    batch.write_text(
        '{"type": "set", "data": {"path": "/a", "value": {}}, "id": "k-1"}\n'
        '{"type": "set", "data": {"path": "/a/b", "value": 1}, "id": "k-2", "actor": "x"}\n'
    )
    done = journal("append", "--batch", str(batch), "--actor", "me")
    assert [line["part"] for line in done.lines] == [[1, 2], [2, 2]]
    assert [line["actor"] for line in done.lines] == ["me", "x"]
    assert journal("append", "--batch", "-", stdin=batch.read_bytes()).lines == [
        {**line, "actor": actor} for line, actor in zip(done.lines, ("me", "x"), strict=True)
    ]


def test_checkpoint_is_taken_and_listed(journal: Run) -> None:
    taken = journal("checkpoint", "--type", "risky", "--trigger", "why not", "--json")
    keys = ["seq", "type", "time", "trigger", "file", "size_bytes", "problem"]
    assert list(taken.json) == keys
    assert journal("checkpoints", "--json").json == [taken.json]
    assert "why not" in journal("checkpoints").out
    assert "risky" in journal("checkpoint", "--type", "risky").out


def test_checkpoints_of_none_is_an_empty_list(journal: Run) -> None:
    assert journal("checkpoints", "--json").json == []
    assert journal("checkpoints").out == ""


# --- state, head, projections --------------------------------------------------------------------


def test_state_is_what_state_json_holds(journal: Run) -> None:
    assert journal("state").out == Path("run/state.json").read_text()


def test_state_as_json_is_one_line(journal: Run) -> None:
    assert journal("state", "--json").out == '{"n":2}\n'


PLACES = [("2", 0), ("0003", 1), ("9999-12-31", 2), ("head~1", 1), ("now", 2)]


@pytest.mark.parametrize(("at", "n"), PLACES)
def test_state_at_a_seq_a_time_or_another_place(journal: Run, at: str, n: int) -> None:
    assert journal("state", "--at", at, "--json").json == {"n": n}


def test_state_before_the_first_event_is_the_initial_one(journal: Run) -> None:
    assert journal("state", "--at", "0", "--json").json == {}
    assert journal("state", "--at", "2001-01-01T00:00+02:00", "--json").json == {}


def test_query_prints_value_by_value_as_jq_does(journal: Run) -> None:
    journal("append", "set", '{"path": "/l", "value": ["a\\"b", 2, {"c": null}]}')
    assert journal("state", "-q", ".l[]").out == '"a\\"b"\n2\n{\n  "c": null\n}\n'
    assert journal("state", "-q", ".l[]", "--json").out == '"a\\"b"\n2\n{"c":null}\n'
    assert journal("state", "-q", ".l[0]", "--raw").out == 'a"b\n'
    assert journal("state", "-q", "empty").out == ""


def test_query_that_is_no_program_or_fails_is_a_wrong_call(journal: Run) -> None:
    for program in (".n |", ".n.x"):
        asked = journal("state", "--query", program)
        assert (asked.code, asked.out) == (2, "")
        assert program in asked.err


def test_query_without_the_package_says_how_to_get_it(
    journal: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jq", None)
    asked = journal("state", "--query", ".n")
    assert (asked.code, asked.out) == (1, "")
    assert "journal-engine[jq]" in asked.err


def test_head_is_an_anchor_that_verify_takes(journal: Run) -> None:
    head = journal("head", "--json")
    assert list(head.json) == HEAD
    anchor = journal("head").out.strip()
    assert anchor == f"{head.json['seq']}:{head.json['sha256']}"
    journal("append", "set", '{"path": "/n", "value": 3}')
    assert journal("verify", "--anchor", anchor).code == 0
    assert journal("head", "--at", "4").out.strip() == anchor
    other = journal("verify", "--anchor", f"3:{head.json['sha256']}", "--json")
    assert other.code == 5
    assert [problem["kind"] for problem in other.json["problems"]] == ["anchor"]


def test_projections_are_listed_with_their_events(run: Run) -> None:
    document, *_ = run("projections", "--json").json
    assert document == {
        "name": "document",
        "module": "projections.document.projection:PROJECTION",
        "events": ["imported", "merge", "patch", "remove", "set"],
    }
    assert run("projections").out.startswith("document: ")


# --- status, verify, rebuild, adopt, repair ------------------------------------------------------


def test_status_says_in_words_that_all_is_well(journal: Run) -> None:
    said = journal("status")
    assert said.code == 0
    assert "run: a journal of projection document" in said.out
    assert "events   4" in said.out
    assert "\nhealthy" in said.out


def test_status_as_json_has_the_report_whole(journal: Run) -> None:
    found = journal("status", "--json").json
    assert list(found) == STATUS
    assert list(found["views"][0]) == ["name", "path", "status", "seq", "why", "advice"]
    assert found["healthy"] is True


def test_status_of_a_changed_view_says_what_to_do(journal: Run) -> None:
    Path("run/state.json").write_text('{"n": 5}')
    said = journal("status")
    assert said.code == 0
    assert "not healthy: run/state.json is changed" in said.out
    assert "journal adopt" in said.out
    assert "journal rebuild" in said.out


def test_status_of_an_unfinished_append_names_it(journal: Run) -> None:
    with segment().open("ab") as file:
        file.write(b'{"seq":5,"ti')
    said = journal("status")
    assert "12 bytes that are no whole append" in said.out
    assert "\nhealthy" in said.out


def test_status_of_a_damaged_log_says_so(journal: Run) -> None:
    damage(line=3)
    Path("run/state.json").unlink()
    said = journal("status")
    assert said.code == 0
    assert "not healthy" in said.out
    assert f"{SEGMENT}, line 3, byte " in said.out
    assert "journal verify" in said.out


def test_verify_of_a_sound_journal_is_ok(journal: Run) -> None:
    found = journal("verify", "--json")
    assert found.code == 0
    assert list(found.json)[:5] == ["ok", "events", "segments", "head", "problems"]
    assert found.json["ok"] is True
    assert list(found.json["head"]) == HEAD
    assert journal("verify").out.startswith("ok: 4 events in 1 segment; head 4:")


def test_verify_of_a_damaged_log_lists_the_problem_and_is_5(journal: Run) -> None:
    journal("append", "set", '{"path": "/n", "value": 9}')
    damage(line=3)
    found = journal("verify", "--json")
    assert found.code == 5
    assert found.json["ok"] is False
    problem = found.json["problems"][0]
    assert list(problem) == ["kind", "segment", "line", "offset", "seq", "message"]
    assert (problem["kind"], problem["line"], problem["seq"]) == ("damage", 3, 3)
    said = journal("verify")
    assert said.code == 5
    assert f"damage: {SEGMENT}, line 3, byte " in said.out
    assert "journal repair --dry-run" in said.err


def test_verify_has_one_shape_whatever_can_be_opened(journal: Run) -> None:
    sound = journal("verify", "--json").json
    Path("run/state.json").unlink()
    damage(line=2)
    damaged = journal("verify", "--json")
    assert damaged.code == 5
    assert list(damaged.json) == list(sound)
    assert list(damaged.json["head"]) == HEAD
    assert damaged.json["problems"][0]["line"] == 2


def test_rebuild_puts_a_changed_view_back_and_keeps_the_other(journal: Run) -> None:
    view = Path("run/state.json")
    before = view.read_bytes()
    view.write_bytes(b'{"n": 5}')
    assert journal("rebuild").code == 0
    assert view.read_bytes() == before
    kept = [path.read_bytes() for path in Path("run/quarantine").iterdir()]
    assert kept == [b'{"n": 5}']


def test_rebuild_as_json_names_files(journal: Run) -> None:
    journal("checkpoint")
    Path("run/snapshots", "00000000000000000004.manual.json").unlink()
    found = journal("rebuild", "--json").json
    assert list(found) == ["seq", "events", "equal", "written", "removed"]
    assert found["written"] == ["snapshots/00000000000000000004.manual.json"]
    assert "state.json" in found["equal"]


def test_adopt_records_a_changed_view_and_prints_the_event(journal: Run) -> None:
    Path("run/state.json").write_text('{"n": 2, "by hand": true}')
    adopted = journal("adopt")
    assert adopted.code == 0
    assert adopted.json["type"] == "journal.adopted"
    assert journal("state", "--json").json == {"n": 2, "by hand": True}
    again = journal("adopt")
    assert (again.code, again.out) == (0, "")
    assert "nothing to adopt" in again.err


def test_repair_of_a_sound_journal_has_nothing_to_do(journal: Run) -> None:
    before = segment().read_bytes()
    assert journal("repair", "--dry-run").out == "run: nothing to repair\n"
    assert journal("repair").code == 0
    assert segment().read_bytes() == before


def test_repair_first_says_and_then_does(journal: Run) -> None:
    damage(line=3)
    before = segment().read_bytes()
    planned = journal("repair", "--dry-run", "--json")
    keys = ["path", "segments", "lost_events", "state_from", "done", "seq"]
    assert list(planned.json) == keys
    assert planned.json["lost_events"] == 1
    assert segment().read_bytes() == before
    assert "would lose event 3" in journal("repair", "--dry-run").out
    done = journal("repair")
    assert done.code == 0
    assert "repaired; event 5 says so" in done.out
    assert journal("verify").code == 0
    assert journal("state", "--json").json == {"n": 2}
    kept = [path.read_bytes() for path in Path("run/quarantine").iterdir()]
    assert before in kept


def test_repair_without_a_state_wants_one_and_changes_nothing(journal: Run) -> None:
    damage(line=3)
    Path("run/state.json").unlink()
    before = segment().read_bytes()
    asked = journal("repair")
    assert (asked.code, asked.out) == (2, "")
    assert "--skip-lost" in asked.err
    assert segment().read_bytes() == before
    Path("mine.json").write_text('{"n": 77}')
    assert journal("repair", "--state", "mine.json").code == 0
    assert journal("state", "--json").json == {"n": 77}


def test_repair_can_go_on_as_if_nothing_was_lost(journal: Run) -> None:
    damage(line=4)
    journal("status")
    Path("run/state.json").unlink()
    assert journal("repair", "--state", "x", "--skip-lost").code == 2
    assert journal("repair", "--skip-lost").code == 0
    assert journal("state", "--json").json == {"n": 1}


# --- import, export ------------------------------------------------------------------------------

VERSIONS = (
    '{"n":1,"time":"2026-01-01T00:00:00Z","actor":"ann","path":"a.json","content":"{\\"k\\":1}"}\n'
    '{"n":2,"time":"2026-01-02T00:00:00Z","path":"a.json","content":"{\\"k\\":"}\n'
    '{"n":3,"time":"2026-01-03T00:00:00Z","path":"a.json","content":"{\\"k\\":2}"}\n'
)


def import_versions(run: Run, text: str = VERSIONS, *options: str) -> Ran:
    Path("v.jsonl").write_text(text)
    return run("import", "versions", "v.jsonl", "-d", "imported", *options)


def test_import_makes_a_journal_and_again_finds_nothing_new(run: Run) -> None:
    first = import_versions(run)
    assert first.code == 0
    assert "3 imported" in first.out
    assert "v.jsonl, line 2: kept as text" in first.err
    assert run("state", "-d", "imported", "--at", "2026-01-02", "--json").json == {"k": 1}
    again = import_versions(run, VERSIONS, "--json")
    assert again.json["already"] == 3
    assert again.json["imported"] == 0
    assert "already imported, 0 new" in import_versions(run).out


def test_import_leaves_out_what_is_no_version_and_is_1(run: Run) -> None:
    done = import_versions(run, VERSIONS + '{"n":4}\n')
    assert done.code == 1
    assert "3 imported" in done.out
    assert "left out: v.jsonl, line 4" in done.err


def test_strict_import_of_what_is_no_version_makes_nothing(run: Run) -> None:
    done = import_versions(run, VERSIONS + '{"n":4}\n', "--strict")
    assert (done.code, done.out) == (2, "")
    assert "v.jsonl, line 4" in done.err
    assert not Path("imported").exists()


def test_import_without_a_journal_wants_a_folder(run: Run) -> None:
    Path("v.jsonl").write_text(VERSIONS)
    done = run("import", "versions", "v.jsonl")
    assert done.code == 1
    assert "--dir" in done.err


def test_import_of_a_file_takes_it_as_it_is(run: Run) -> None:
    Path("state.yaml").write_text("a: [1, two]\n")
    assert run("import", "file", "state.yaml", "-d", "imported").code == 0
    assert run("state", "-d", "imported", "--json").json == {"a": [1, "two"]}


def test_import_from_git_of_no_repository_is_a_wrong_call(run: Run) -> None:
    done = run("import", "git", ".", "state.json", "-d", "imported")
    assert done.code == 2
    assert run("import", "git", ".", "x", "-d", "i", "--order", "any").code == 2
    assert not Path("imported").exists()


def test_export_gives_the_stored_lines(journal: Run) -> None:
    assert journal("export").out.encode() == segment().read_bytes()
    part = journal("export", "events", "--after", "1", "--upto", "3")
    assert [line["seq"] for line in part.lines] == [2, 3]


def test_exported_versions_come_in_again(run: Run) -> None:
    import_versions(run)
    exported = run("export", "versions", "-d", "imported")
    assert [line["n"] for line in exported.lines] == [1, 2, 3]
    Path("again.jsonl").write_text(exported.out)
    run("import", "versions", "again.jsonl", "-d", "again")
    assert run("export", "versions", "-d", "again").out == exported.out
    assert run("export", "versions", "-d", "again", "--after", "1").code == 2
    assert run("export", "everything", "-d", "again").code == 2


# --- the whole -----------------------------------------------------------------------------------


def test_every_json_is_what_orjson_reads(journal: Run) -> None:
    journal("checkpoint")
    for command in ("state", "head", "checkpoints", "status", "verify"):
        orjson.loads(journal(command, "--json").out)

"""Versions of one file out of a git repository: real repositories, made by `git fast-import`."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import journal
from journal.errors import JournalError, UsageError
from projections.document.git import read_git
from projections.document.importing import import_versions
from projections.document.version import Problem, Version


def problems(source: Any) -> list[Problem]:
    return [item for item in source if isinstance(item, Problem)]


def versions(source: Any) -> list[Version]:
    return [item for item in source if isinstance(item, Version)]


def git(repo: Path, *arguments: str, given: bytes = b"") -> bytes:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    command = ["git", "-C", str(repo), *arguments]
    done = subprocess.run(command, input=given, capture_output=True, check=True, env=environment)
    return done.stdout


def commit(
    time_s: int,
    files: dict[str, bytes | None],
    *,
    branch: str = "main",
    message: str = "",
    zone: str = "+0000",
    author: str = "Ann",
    merge: str = "",
) -> bytes:
    """One commit as `git fast-import` takes it."""
    text = message.encode() or b"change"
    made = [
        b"commit refs/heads/%b" % branch.encode(),
        b"author %b <a@example.org> %d +0000" % (author.encode(), 1),
        b"committer Bob <b@example.org> %d %b" % (time_s, zone.encode()),
        b"data %d\n%b" % (len(text), text),
    ]  # fmt: skip
    if merge:
        made.append(b"merge refs/heads/%b" % merge.encode())
    for name, content in files.items():
        quoted = b'"' + name.encode().replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
        if content is None:
            made.append(b"D " + quoted)
        else:
            made.append(b"M 100644 inline %b\ndata %d\n%b" % (quoted, len(content), content))
    return b"\n".join(made) + b"\n\n"


def make_repo(path: Path, *commits: bytes) -> Path:
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    git(path, "fast-import", "--quiet", given=b"".join(commits))
    return path


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Six commits on main, of which five change `run/state.json`; one of them deletes it."""
    return make_repo(
        tmp_path / "repo",
        commit(1000, {"run/state.json": b'{"a":1}\n', "other": b"x"}, message="first\n\nbody"),
        commit(2000, {"other": b"y"}),
        commit(1500, {"run/state.json": b'\xff{"a":2'}, zone="+0530", author="Zoë"),
        commit(3000, {"run/state.json": None}, message="gone"),
        commit(4000, {"run/state.json": b""}),
        commit(5000, {"run/state.json": b'{"a":3}'}),
    )


def test_git_gives_each_version_of_the_file_oldest_first(repo: Path) -> None:
    source = read_git(repo, "run/state.json")
    assert source.total() == 5
    assert list(source) == list(source)
    found = versions(source)
    assert not problems(source)
    assert [v.n for v in found] == [1, 2, 3, 4, 5]
    assert [v.content for v in found] == [b'{"a":1}\n', b'\xff{"a":2', None, b"", b'{"a":3}']
    assert {v.path for v in found} == {"run/state.json"}
    assert found[0].time == "1970-01-01T00:16:40.000Z"
    assert [v.time[14:19] for v in found] == ["16:40", "25:00", "50:00", "06:40", "23:20"]
    assert [v.author for v in found] == ["Ann", "Zoë", "Ann", "Ann", "Ann"]
    assert [v.message for v in found] == ["first", "change", "gone", "change", "change"]
    assert git(repo, "rev-parse", "--short=12", "main").decode().strip() in found[-1].place


@pytest.mark.parametrize("way", ["below", "absolute", "dotted", "bare", "gitdir"])
def test_path_is_seen_from_the_folder_that_is_given(repo: Path, tmp_path: Path, way: str) -> None:
    git(repo, "checkout", "-q", "main")
    folder, path = repo, "run/state.json"
    match way:
        case "below":
            folder, path = repo / "run", "state.json"
        case "absolute":
            path = str(repo / "run" / "state.json")
        case "dotted":
            folder, path = repo / "run", "../run/./state.json"
        case "bare":
            folder = tmp_path / "bare.git"
            git(repo, "clone", "-q", "--bare", ".", str(folder))
        case _:
            folder = repo / ".git"
    found = versions(read_git(folder, path))
    assert [v.n for v in found] == [1, 2, 3, 4, 5]
    assert {v.path for v in found} == {"run/state.json"}


def test_main_line_leaves_merged_branches_out_and_topo_takes_them_in(tmp_path: Path) -> None:
    repo = make_repo(
        tmp_path / "repo",
        commit(1000, {"s.json": b"1"}),
        b"reset refs/heads/side\nfrom refs/heads/main\n\n",
        commit(2000, {"s.json": b"2"}, branch="side"),
        commit(3000, {"s.json": b"3"}, branch="side"),
        commit(4000, {"s.json": b"3"}, merge="side"),
        commit(5000, {"s.json": b"4"}),
    )
    assert [v.content for v in versions(read_git(repo, "s.json"))] == [b"1", b"3", b"4"]
    topo = read_git(repo, "s.json", order="topo")
    assert [v.content for v in versions(topo)] == [b"1", b"2", b"3", b"4"]
    assert topo.total() == 4
    side = read_git(repo, "s.json", revision="side")
    assert [v.content for v in versions(side)] == [b"1", b"2", b"3"]


@pytest.mark.parametrize("name", ["*.json", ":(glob)x", 'a "b" c.json', "é ü.json", "-x.json"])
def test_names_mean_themselves_and_no_pattern(tmp_path: Path, name: str) -> None:
    repo = make_repo(
        tmp_path / "repo", commit(1, {name: b"1", "a.json": b"2"}), commit(2, {"a.json": b"3"})
    )
    assert [(v.content, v.path) for v in versions(read_git(repo, name))] == [(b"1", name)]


def test_settings_of_the_user_do_not_change_what_is_read(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = versions(read_git(repo, "run/state.json"))
    settings = {
        "log.showSignature": "true",
        "log.follow": "true",
        "log.date": "human",
        "log.decorate": "full",
        "format.pretty": "oneline",
        "color.ui": "always",
        "i18n.logOutputEncoding": "latin1",
        "core.quotePath": "true",
        "core.pager": "false",
    }
    for name, value in settings.items():
        git(repo, "config", name, value)
    monkeypatch.setenv("GIT_DIR", str(repo / "nowhere"))
    monkeypatch.setenv("GIT_WORK_TREE", "/")
    assert versions(read_git(repo, "run/state.json")) == wanted


def test_folder_in_the_place_of_the_file_is_a_problem(tmp_path: Path) -> None:
    repo = make_repo(
        tmp_path / "repo",
        commit(1, {"s.json": b"1"}),
        commit(2, {"s.json": None, "s.json/deep": b"2"}),
        commit(3, {"s.json/deep": None, "s.json": b"3"}),
    )
    source = read_git(repo, "s.json")
    assert [(v.n, v.content) for v in versions(source)] == [(1, b"1"), (3, b"3")]
    (problem,) = problems(source)
    assert "is no file there (git calls it a tree)" in problem.why


def test_missing_object_is_not_taken_for_a_deletion(repo: Path) -> None:
    blob = git(repo, "rev-parse", "main:run/state.json").decode().strip()
    (repo / ".git/objects" / blob[:2] / blob[2:]).unlink()
    (problem,) = problems(read_git(repo, "run/state.json"))
    assert "not in this repository" in problem.why


def test_reading_can_stop_in_the_middle_and_leaves_no_process(repo: Path) -> None:
    walk = iter(read_git(repo, "run/state.json"))
    assert isinstance(next(walk), Version)
    walk.close()  # type: ignore[attr-defined]
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.mark.parametrize(
    ("path", "options", "said"),
    [
        ("never.json", {}, "no commit that leads to HEAD has a file never.json"),
        ("run/state.json", {"revision": "nowhere"}, "no revision 'nowhere'"),
        ("run/state.json", {"revision": "--all"}, "is not a revision"),
        ("../outside.json", {}, "outside"),
        ("/outside.json", {}, "outside"),
        ("two\nlines", {}, "cannot be the path"),
        ("", {}, "cannot be the path"),
    ],
)
def test_what_cannot_be_read_from_git_is_refused_at_once(
    repo: Path, path: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        read_git(repo, path, **options)
    assert said in str(refused.value)


def test_folder_that_is_no_repository_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(UsageError, match="not a git repository"):
        read_git(tmp_path, "s.json")
    with pytest.raises(UsageError, match="nowhere"):
        read_git(tmp_path / "nowhere", "s.json")


def test_repository_without_commits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    git(tmp_path / "repo", "init", "-q")
    with pytest.raises(UsageError, match="no revision 'HEAD'"):
        read_git(tmp_path / "repo", "s.json")


def test_missing_git_is_told(repo: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = read_git(repo, "run/state.json")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="no program `git`"):
        read_git(repo, "run/state.json")
    with pytest.raises(UsageError, match="no program `git`"):
        list(source)


def test_git_that_fails_in_the_middle_is_told_with_its_words(repo: Path) -> None:
    source = read_git(repo, "run/state.json")
    git(repo, "update-ref", "-d", "refs/heads/main")
    with pytest.raises(JournalError, match="git log: "):
        list(source)


def test_git_history_is_imported_and_followed_as_it_grows(tmp_path: Path) -> None:
    repo = make_repo(
        tmp_path / "repo",
        commit(1000, {"s.json": b'{"a":1}'}, message="one"),
        commit(2000, {"s.json": None}),
    )
    report = import_versions(tmp_path / "j", read_git(repo, "s.json"))
    assert (report.imported, report.deletions) == (2, 1)
    later = commit(3000, {"s.json": b'{"a":3}'})
    git(repo, "fast-import", "--quiet", given=_on_top(later))
    assert import_versions(tmp_path / "j", read_git(repo, "s.json")).imported == 1
    with journal.open(tmp_path / "j", read_only=True) as engine:
        first, *_ = found = [event for event in engine.events() if event.type == "imported"]
        assert [engine.state_at(event.seq) for event in found] == [{"a": 1}, None, {"a": 3}]
    assert (first.actor, first.data["message"]) == ("Ann", "one")
    assert first.time == "1970-01-01T00:16:40.000Z"


def test_rewritten_git_history_is_refused(tmp_path: Path) -> None:
    first = commit(1000, {"s.json": b"1"})
    repo = make_repo(tmp_path / "repo", first, commit(2000, {"s.json": b"2"}))
    import_versions(tmp_path / "j", read_git(repo, "s.json"))
    other = make_repo(
        tmp_path / "other", first, commit(2001, {"s.json": b"2"}), commit(3000, {"s.json": b"3"})
    )
    with pytest.raises(UsageError, match="version 2 is not the one that the journal has"):
        import_versions(tmp_path / "j", read_git(other, "s.json"))


def _on_top(made: bytes) -> bytes:
    """Let a commit follow the last one on main, in a new run of `git fast-import`."""
    head, mark, rest = made.partition(b"\nM ")
    return head + b"\nfrom refs/heads/main^0" + mark + rest

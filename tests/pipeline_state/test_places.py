"""Names, run ids, layouts, and the root found again from where a file lies."""

from pathlib import Path

import pytest

from journal.errors import JournalError, UsageError
from projections.pipeline_state import places
from tests.pipeline_state.making import UUID, Desk, foreign_state


@pytest.mark.parametrize("name", ["a", "0", "code-review", "a" * 48, "-"])
def test_a_name_of_the_text_is_taken(name: str) -> None:
    assert places.check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "A", "a_b", "a.b", "a/b", "..", "ä", "a" * 49, "a\n", "a b", "a\0"]
)
def test_any_other_name_is_refused_before_anything_is_made(desk: Desk, name: str) -> None:
    with pytest.raises(UsageError, match="1 to 48 of a-z, 0-9 and -") as caught:
        desk.begin(name)
    assert caught.value.key == "pipeline_name"
    assert desk.bytes() == {}


@pytest.mark.parametrize(
    "run_id", [UUID, UUID.upper(), "review-20260301-120000", "review-20240229-235959"]
)
def test_a_run_id_is_a_uuid_of_version_4_or_name_and_time(desk: Desk, run_id: str) -> None:
    with desk.begin(run_id=run_id) as run:
        assert run.state["run_id"] == run_id
        assert run.place.file.parent.name == run_id


@pytest.mark.parametrize(
    "run_id",
    [
        "../../../x",
        "..",
        "x",
        "0b6cf0f4-3a6e-1c1e-9d57-1f2a3b4c5d6e",
        "0b6cf0f4-3a6e-4c1e-1d57-1f2a3b4c5d6e",
        f"{UUID}\n",
        f"{{{UUID}}}",
        UUID.replace("-", ""),
        "other-20260301-120000",
        "review-20260230-120000",
        "review-20260301-240000",
        "review-20260301",
        "review-review-20260301-120000",
        "20260301-120000",
    ],
)
def test_any_other_run_id_is_refused_before_anything_is_made(desk: Desk, run_id: str) -> None:
    with pytest.raises(UsageError) as caught:
        desk.begin(run_id=run_id)
    assert caught.value.key == "run_id"
    assert desk.bytes() == {}


def test_without_one_a_run_gets_a_uuid_and_its_pipeline_another(desk: Desk) -> None:
    with desk.begin() as run:
        state = run.state
    assert places.check_run_id(state["run_id"], "") == state["run_id"]
    assert places.check_run_id(state["pipeline_id"], "") == state["pipeline_id"]
    assert state["run_id"] != state["pipeline_id"]


@pytest.mark.parametrize(
    ("path", "layout", "root"),
    [
        ("/w/.superpipelines/temp/p/r/pipeline-state.json", "data", "/w/.superpipelines"),
        ("/w/.claude/superpipelines/temp/p/r/pipeline-state.json", "legacy", "/w/.claude"),
        ("/w/superpipelines/temp/p/r/pipeline-state.json", "legacy", "/w"),
        ("/pipeline-state.json", "data", "/"),
    ],
)
def test_a_file_is_legacy_if_its_fourth_folder_up_is_the_infix(
    path: str, layout: str, root: str
) -> None:
    place = places.place_of(path)
    assert (place.layout, place.root) == (layout, Path(root))


@pytest.mark.parametrize(
    ("named", "fits"),
    [
        (".claude", True),
        ("w/.claude", True),
        ("w\\.claude", True),
        ("./.claude/", True),
        ("claude", False),
        ("v/.claude", False),
        ("x/y/z/w/.claude", False),
        (".superpipelines", False),
    ],
)
def test_the_root_is_compared_by_as_many_parts_as_the_state_has(named: str, fits: bool) -> None:
    place = places.place_of("/w/.claude/superpipelines/temp/p/r/pipeline-state.json")
    words = places.say_moved(place, {"scope_root_dir": named})
    assert (words == "") == fits
    if not fits:
        assert repr(named) in words
        assert "/w/.claude" in words


def test_a_state_without_a_root_cannot_be_compared() -> None:
    assert places.say_moved(places.place_of("/a/b/c/d/e.json"), {}) == ""


def test_data_is_the_default_and_its_root_can_be_given_by_the_folder_that_holds_it(
    desk: Desk,
) -> None:
    with desk.begin("one", root=None) as one, desk.begin("two", root=str(desk.folder)) as two:
        for run, name in ((one, "one"), (two, "two")):
            assert run.place.file.parent.parent == desk.root / "temp" / name
            assert run.state["scope_root_dir"] == ".superpipelines"
            assert places.say_moved(run.place, run.state) == ""


@pytest.mark.parametrize("root", [None, ".claude"])
def test_legacy_lies_under_the_root_that_the_profile_names(desk: Desk, root: str | None) -> None:
    with desk.begin(layout="legacy", root=root) as run:
        assert run.place.file.is_relative_to(desk.folder / ".claude" / "superpipelines" / "temp")
        assert run.place.layout == "legacy"
        assert run.state["scope_root_dir"] == ".claude"
        assert places.say_moved(run.place, run.state) == ""


@pytest.mark.parametrize("workspace", [".config/code", "./.config/code/"])
def test_legacy_roots_of_several_parts_are_compared_whole(desk: Desk, workspace: str) -> None:
    profile = {"scope_root": {"workspace": workspace}}
    with desk.begin(layout="legacy", root=None, profile=profile) as run:
        assert run.state["scope_root_dir"] == ".config/code"
        assert places.say_moved(run.place, run.state) == ""
        assert run.state["metadata"]["source_scope_root"] == workspace


def test_a_legacy_root_that_is_not_the_profiles_is_refused(desk: Desk) -> None:
    with pytest.raises(UsageError, match=r"'\.claude'") as caught:
        desk.begin(layout="legacy", root=str(desk.folder / ".cursor"))
    assert caught.value.key == "root"
    with pytest.raises(UsageError, match="needs a root"):
        desk.begin(layout="legacy", root=None, profile={})
    with pytest.raises(UsageError, match="It is data or legacy"):
        desk.begin(layout="flat")
    assert desk.bytes() == {}


def test_nothing_is_made_outside_the_root_through_a_symlink(desk: Desk, tmp_path: Path) -> None:
    (desk.root / "temp").mkdir(parents=True)
    (desk.folder / "elsewhere").mkdir()
    (desk.root / "temp" / "review").symlink_to(desk.folder / "elsewhere")
    with pytest.raises(UsageError, match="leads out of"):
        desk.begin()
    assert list((desk.folder / "elsewhere").iterdir()) == []


def test_a_run_is_found_by_its_file_its_folder_and_its_id(desk: Desk) -> None:
    file = desk.write(foreign_state())
    for named in (str(file), str(file.parent), UUID):
        assert places.find(named, str(desk.root)).file == file
    assert places.find(UUID).file == file
    assert places.find(UUID, str(desk.folder)).file == file
    assert places.find(str(file.relative_to(desk.folder))).file == file


def test_a_run_whose_file_is_gone_is_found_by_its_journal(desk: Desk) -> None:
    with desk.begin(run_id=UUID) as run:
        file = run.place.file
    file.unlink()
    for named in (str(file), str(file.parent), UUID):
        assert places.find(named, str(desk.root)).file == file


def test_what_is_no_run_is_an_error_that_says_where_it_was_looked_for(desk: Desk) -> None:
    for named in ("nothing", "../nothing", str(desk.folder), "", "..", UUID):
        with pytest.raises(JournalError, match="there is no run") as caught:
            places.find(named, str(desk.root))
        assert type(caught.value) is JournalError
        assert str(desk.root) in caught.value.message


def test_an_id_that_two_pipelines_have_is_refused_with_both(desk: Desk) -> None:
    files = [desk.write(foreign_state(), name=name) for name in ("one", "two")]
    with pytest.raises(UsageError, match="there are 2 runs") as caught:
        places.find(UUID, str(desk.root))
    assert all(str(file) in caught.value.message for file in files)


def test_renamed_folders_are_said() -> None:
    place = places.place_of("/w/.superpipelines/temp/p/r/pipeline-state.json")
    assert places.say_renamed(place, {"pipeline_name": "p", "run_id": "r"}) == ""
    words = places.say_renamed(place, {"pipeline_name": "q", "run_id": "s"})
    assert "pipeline_name is 'q' and its folder 'p'" in words
    assert "run_id is 's' and its folder 'r'" in words

"""Models and preference files: what is recorded, and what is refused."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from journal.errors import UsageError
from tests.pipeline_state.making import Desk

MODELS = {
    "plan": {"model": "large", "effort": "high", "source": "user", "warnings": []},
    "build": {"model": "small"},
}


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def test_models_are_recorded_with_the_date_of_the_tiers(desk: Desk) -> None:
    with desk.begin() as run:
        run.record_models(MODELS, "2026-03-01")
        metadata = run.state["metadata"]
        assert metadata["resolved_models"] == MODELS
        assert metadata["model_tiers_version_at_run"] == "2026-03-01"


@pytest.mark.parametrize(
    ("models", "date", "key"),
    [
        ([], "2026-03-01", "resolved_models"),
        ({"plan": "large"}, "2026-03-01", "resolved_models.plan"),
        ({"plan": {}}, "2026-03-01", "resolved_models.plan"),
        ({"plan": {"model": ""}}, "2026-03-01", "resolved_models.plan"),
        (MODELS, "1 March", "tiers_version"),
        (MODELS, "20260301", "tiers_version"),
        (MODELS, "2026-02-30", "tiers_version"),
    ],
)
def test_models_or_a_date_that_do_not_fit_are_refused_by_name(
    desk: Desk, models: Any, date: str, key: str
) -> None:
    with desk.begin() as run:
        before = desk.bytes()
        with pytest.raises(UsageError) as caught:
            run.record_models(models, date)
        assert caught.value.key == key
        assert desk.bytes() == before


def test_preference_files_are_recorded_with_the_hash_of_their_content(desk: Desk) -> None:
    (desk.folder / "prefs.md").write_bytes(b"be brief\n")
    with desk.begin() as run:
        run.record_preferences(user=str(desk.folder / "no.md"), workspace="prefs.md")
        assert run.state["metadata"]["preference_files_consulted"] == {
            "user_path": str(desk.folder / "no.md"),
            "user_hash": None,
            "workspace_path": str(desk.folder / "prefs.md"),
            "workspace_hash": sha256(b"be brief\n"),
        }


def test_a_path_at_home_is_kept_as_it_is_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(desk.folder))
    (desk.folder / "prefs.md").write_bytes(b"x")
    with desk.begin() as run:
        run.record_preferences(user="~/prefs.md")
        consulted = run.state["metadata"]["preference_files_consulted"]
        assert (consulted["user_path"], consulted["user_hash"]) == ("~/prefs.md", sha256(b"x"))
        assert consulted["workspace_path"] is None


def test_paths_that_are_not_given_are_those_recorded_before_hashed_again(desk: Desk) -> None:
    file = desk.folder / "prefs.md"
    file.write_bytes(b"one")
    with desk.begin() as run:
        run.record_preferences(workspace=str(file))
        file.write_bytes(b"two")
        run.record_preferences()
        consulted = run.state["metadata"]["preference_files_consulted"]
        assert consulted["workspace_hash"] == sha256(b"two")


def test_without_any_path_there_is_nothing_to_record(desk: Desk) -> None:
    with desk.begin() as run:
        before = desk.bytes()
        with pytest.raises(UsageError, match="Give --user FILE, --workspace FILE"):
            run.record_preferences()
        assert desk.bytes() == before


def test_a_preference_file_that_cannot_be_read_is_not_taken_for_absent(desk: Desk) -> None:
    folder: Path = desk.folder / "prefs"
    folder.mkdir()
    with desk.begin() as run, pytest.raises(IsADirectoryError):
        run.record_preferences(user=str(folder))

"""The schema: each field broken once is named, the order stands, unknown members survive."""

import copy
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from journal.errors import Corrupt, UsageError
from projections import patch
from projections.pipeline_state import schema
from tests.pipeline_state.making import Desk, foreign_state

RUN = [
    ("pipeline_id", 7),
    ("pipeline_id", " "),
    ("pipeline_name", "a/b"),
    ("pipeline_name", ".."),
    ("pipeline_name", "a\\b"),
    ("plugin_version", 2),
    ("scope_root_dir", "/home/ann/.superpipelines"),
    ("scope_root_dir", "C:\\work\\.superpipelines"),
    ("scope_root_dir", ".."),
    ("scope_root_dir", None),
    ("run_id", ""),
    ("run_id", "../../x"),
    ("started_at", "yesterday"),
    ("started_at", 1772366400),
    ("pattern", "6"),
    ("pattern", 2),
    ("pattern", ["1"]),
    ("status", "paused"),
    ("status", None),
    ("current_phase", 3),
    ("current_phase", -1),
    ("current_phase", True),
    ("current_phase", 1.0),
    ("phases", {}),
    ("metadata", []),
]
PHASE = [
    ("index", 0),
    ("index", 1.0),
    ("name", ""),
    ("name", None),
    ("status", "completed"),
    ("status", "skipped"),
    ("agent", 7),
    ("outputs", "half.txt"),
    ("outputs", [1]),
    ("error", 7),
    ("error", ["no"]),
]
METADATA = [
    ("source_tier", ""),
    ("source_tier", None),
    ("runtime_tier", 1),
    ("platform_profile", "claude"),
    ("tier_changes", {}),
    ("tier_changes", [{"from": "a", "to": "b"}]),
    ("tier_changes", [{"from": "a", "to": "b", "at": "soon"}]),
    ("tier_changes", [{"from": "", "to": "b", "at": "2026-03-01"}]),
    ("source_scope_root", 1),
    ("isolation_warning", ["a"]),
    ("resolved_models", []),
    ("resolved_models", {"plan": "m"}),
    ("preference_files_consulted", None),
    ("model_tiers_version_at_run", 20260201),
    ("tier", "claude"),
]
PREFERENCES = [
    ("user_path", 1),
    ("user_hash", "sha256:12"),
    ("workspace_path", []),
    ("workspace_hash", "md5:" + "0" * 64),
]


def breaks(key: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Check that `change` makes a good state one that is refused by the name `key`."""
    state = foreign_state()
    schema.check(state)
    change(state)
    with pytest.raises(UsageError) as caught:
        schema.check(state)
    assert caught.value.key == key
    assert key in caught.value.message
    assert caught.value.advice


@pytest.mark.parametrize(("name", "value"), RUN)
def test_a_field_of_the_run_that_does_not_fit_is_refused_by_name(name: str, value: Any) -> None:
    breaks(name, lambda state: state.update({name: value}))


@pytest.mark.parametrize(("name", "value"), PHASE)
def test_a_field_of_a_phase_that_does_not_fit_is_refused_by_name(name: str, value: Any) -> None:
    breaks(f"phases[1].{name}", lambda state: state["phases"][1].update({name: value}))


@pytest.mark.parametrize(("name", "value"), METADATA)
def test_a_field_of_metadata_that_does_not_fit_is_refused_by_name(name: str, value: Any) -> None:
    breaks(f"metadata.{name}", lambda state: state["metadata"].update({name: value}))


@pytest.mark.parametrize(("name", "value"), PREFERENCES)
def test_a_preference_that_does_not_fit_is_refused_by_name(name: str, value: Any) -> None:
    key = "preference_files_consulted"
    breaks(f"metadata.{key}.{name}", lambda state: state["metadata"][key].update({name: value}))


@pytest.mark.parametrize("name", schema.RUN_FIELDS)
def test_a_missing_field_is_refused_but_for_those_of_later_versions(name: str) -> None:
    state = foreign_state()
    del state[name]
    if name in ("plugin_version", "scope_root_dir"):
        schema.check(state)
        return
    with pytest.raises(UsageError) as caught:
        schema.check(state)
    assert caught.value.key == name


@pytest.mark.parametrize("value", [None, [], "text", 7])
def test_a_state_or_a_phase_that_is_no_object_is_refused(value: Any) -> None:
    with pytest.raises(UsageError):
        schema.check(value)
    breaks("phases[0]", lambda state: state["phases"].__setitem__(0, value))


def test_members_stand_in_the_order_of_the_text_whoever_wrote_them() -> None:
    state = foreign_state()
    state["metadata"]["tier_changes"] = [{"at": "2026-03-01", "to": "b", "from": "a"}]
    shuffled = orjson.loads(orjson.dumps(state, option=orjson.OPT_SORT_KEYS))
    assert list(shuffled) != list(state)
    ordered = orjson.loads(schema.render(shuffled))
    assert list(ordered) == list(schema.RUN_FIELDS)
    assert list(ordered["phases"][0]) == list(schema.PHASE_FIELDS)
    assert list(ordered["metadata"]) == list(schema.METADATA_FIELDS)
    assert list(ordered["metadata"]["tier_changes"][0]) == ["from", "to", "at"]
    assert patch.equal(ordered, state)


def test_unknown_members_survive_behind_those_of_the_text() -> None:
    state: dict[str, Any] = {"zeta": 1} | foreign_state()
    state["phases"][0] = {"alpha": 2.0} | state["phases"][0]
    state["metadata"] = {"mine": {"b": 1, "a": 2}} | state["metadata"]
    schema.check(state)
    ordered = orjson.loads(schema.render(state))
    assert patch.equal(ordered, state)
    assert list(ordered)[-1] == "zeta"
    assert list(ordered["phases"][0])[-1] == "alpha"
    assert list(ordered["metadata"]["mine"]) == ["b", "a"]


@pytest.mark.parametrize("value", [{}, None, {"phases": 7, "metadata": 7}, {"phases": [7, None]}])
def test_rendering_never_fails_whatever_the_state_is(value: Any) -> None:
    assert orjson.loads(schema.render(value)) == value


def test_the_file_begins_with_a_brace_has_no_bom_and_no_final_lf(desk: Desk) -> None:
    with desk.begin() as run:
        data = run.place.file.read_bytes()
        assert data[:1] == b"\x7b"
        assert data.endswith(b"\n}")
        assert data.split(b"\n")[1].startswith(b'  "pipeline_id": ')
        assert patch.equal(orjson.loads(data), run.state)


@pytest.mark.parametrize(("name", "value"), [*RUN[:3], ("status", "paused"), ("phases", {})])
def test_a_field_that_breaks_the_schema_is_named_when_a_file_is_taken_over(
    desk: Desk, name: str, value: Any
) -> None:
    file = desk.write(foreign_state(**{name: value}))
    before = desk.bytes()
    with pytest.raises(Corrupt) as caught:
        desk.open(file)
    assert name in caught.value.message
    assert str(file) in caught.value.message
    assert desk.bytes() == before


def test_adopting_may_add_what_was_missing_but_never_change_what_is_immutable() -> None:
    old = foreign_state()
    del old["plugin_version"]
    schema.check_adoption(old, foreign_state())
    for name in schema.IMMUTABLE:
        with pytest.raises(UsageError) as caught:
            schema.check_adoption(foreign_state(), foreign_state(**{name: "other"}))
        assert caught.value.key == name
    for name in schema.IMMUTABLE_METADATA:
        new = copy.deepcopy(foreign_state())
        new["metadata"][name] = "other"
        with pytest.raises(UsageError) as caught:
            schema.check_adoption(foreign_state(), new)
        assert caught.value.key == f"metadata.{name}"

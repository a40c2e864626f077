"""The verbs of phases and of the run: which may follow which, and what they do to the state."""

from collections.abc import Callable
from typing import Any

import pytest

from journal.errors import UsageError
from projections.pipeline_state import commands
from projections.pipeline_state.run import PipelineRun
from tests.pipeline_state.making import Desk, foreign_state, types

Verb = Callable[[PipelineRun], object]

PHASE_VERBS: dict[str, tuple[str, str, Verb]] = {
    "start": ("pending", "running", lambda run: run.start(0)),
    "done": ("running", "done", lambda run: run.done(0)),
    "fail-phase": ("running", "failed", lambda run: run.fail_phase(0, "no answer")),
    "retry-phase": ("failed", "pending", lambda run: run.retry_phase(0)),
}
ROADS: dict[str, list[str]] = {
    "pending": [],
    "running": ["start"],
    "done": ["start", "done"],
    "failed": ["start", "fail-phase"],
}
RUN_VERBS: dict[str, Verb] = {
    "beat": lambda run: run.beat(),
    "complete": lambda run: run.complete(),
    "escalate": lambda run: run.escalate("a key is missing"),
    "fail": lambda run: run.fail("the tests fail"),
    "models": lambda run: run.record_models({"plan": {"model": "m"}}, "2026-03-01"),
    "prefs": lambda run: run.record_preferences("~/prefs.md"),
}
ENDS: dict[str, Verb] = {
    "completed": lambda run: (run.start(0), run.done(0), run.start(1), run.done(1), run.complete()),
    "escalated": lambda run: run.escalate("a key is missing"),
    "failed": lambda run: run.fail("the tests fail"),
}


@pytest.mark.parametrize("status", list(ROADS))
@pytest.mark.parametrize("verb", list(PHASE_VERBS))
def test_a_phase_verb_is_for_one_status_and_refused_for_the_others(
    desk: Desk, status: str, verb: str
) -> None:
    wanted, result, do = PHASE_VERBS[verb]
    with desk.begin() as run:
        for step in ROADS[status]:
            PHASE_VERBS[step][2](run)
        assert run.state["phases"][0]["status"] == status
        if status == wanted:
            do(run)
            assert run.state["phases"][0]["status"] == result
            return
        before = desk.bytes()
        with pytest.raises(UsageError) as caught:
            do(run)
        assert caught.value.key == "phases[0].status"
        assert f"is {status}, and {verb} is for one that is {wanted}" in caught.value.message
        assert caught.value.advice
        assert desk.bytes() == before


@pytest.mark.parametrize("end", list(ENDS))
@pytest.mark.parametrize("verb", [*PHASE_VERBS, *RUN_VERBS])
def test_an_ended_run_refuses_every_verb_but_resume_and_meta(
    desk: Desk, end: str, verb: str
) -> None:
    do = RUN_VERBS[verb] if verb in RUN_VERBS else PHASE_VERBS[verb][2]
    with desk.begin() as run:
        ENDS[end](run)
        before = desk.bytes()
        with pytest.raises(UsageError, match=f"the run is {end}, and {verb} is for") as caught:
            do(run)
        assert caught.value.key == "status"
        assert desk.bytes() == before
        run.set_metadata("ticket", "A-7")
        assert run.state["metadata"]["ticket"] == "A-7"
        assert run.state["status"] == end


@pytest.mark.parametrize("index", [-1, 2, 99, True])
def test_a_phase_that_is_not_there_is_refused_with_those_that_are(desk: Desk, index: int) -> None:
    with desk.begin() as run:
        with pytest.raises(UsageError, match=r"There are: 0 to 1\.") as caught:
            run.start(index)
        assert caught.value.key == "index"


def test_current_phase_is_the_first_that_is_not_done_and_their_number_when_all_are(
    desk: Desk,
) -> None:
    with desk.begin() as run:
        run.start(0)
        run.start(1)
        run.done(1)
        assert run.state["current_phase"] == 0
        run.done(0)
        assert run.state["current_phase"] == 2
        run.complete()
        assert run.state["current_phase"] == 2


def test_outputs_are_added_once_and_survive_a_retry(desk: Desk) -> None:
    with desk.begin() as run:
        run.start(0)
        run.done(0, ["a.md", "b.md", "a.md"])
        assert run.state["phases"][0]["outputs"] == ["a.md", "b.md"]
    file = desk.write(foreign_state())
    with desk.open(file) as run:
        run.fail_phase(1, "no answer")
        assert run.state["phases"][1]["error"] == "no answer"
        run.retry_phase(1)
        phase = run.state["phases"][1]
        assert (phase["outputs"], phase["error"]) == (["half.txt"], None)
        run.start(1)
        run.done(1, ["app", "half.txt"])
        assert run.state["phases"][1]["outputs"] == ["half.txt", "app"]


@pytest.mark.parametrize("text", ["", "  "])
def test_an_error_a_reason_and_an_output_are_texts_that_are_not_empty(
    desk: Desk, text: str
) -> None:
    with desk.begin() as run:
        run.start(0)
        before = desk.bytes()
        verbs: list[Callable[[], object]] = [
            lambda: run.fail_phase(0, text),
            lambda: run.done(0, [text]),
            lambda: run.escalate(text),
            lambda: run.fail(text),
        ]
        for do in verbs:
            with pytest.raises(UsageError, match="It must be text, not empty"):
                do()
        assert desk.bytes() == before


def test_complete_needs_every_phase_done_and_says_which_are_not(desk: Desk) -> None:
    with desk.begin() as run:
        run.start(0)
        with pytest.raises(UsageError) as caught:
            run.complete()
        assert "0 (plan) is running, 1 (build) is pending" in caught.value.message
        assert run.state["status"] == "running"


def test_escalating_and_failing_keep_their_reason_in_the_metadata(desk: Desk) -> None:
    with desk.begin() as run:
        run.escalate("a key is missing")
        assert run.state["status"] == "escalated"
        assert run.state["metadata"]["escalation_reason"] == "a key is missing"
        run.resume(confirm=True)
        assert "escalation_reason" not in run.state["metadata"]
        run.fail("no key")
        assert run.state["metadata"]["failure_reason"] == "no key"
        assert types(run)[-3:] == ["run_escalated", "run_resumed", "run_failed"]


def test_a_beat_changes_no_field_and_no_byte_of_the_state_file(desk: Desk) -> None:
    with desk.begin() as run:
        state, data = run.state, run.place.file.read_bytes()
        desk.clock.go(1000)
        run.beat()
        assert (run.state, run.place.file.read_bytes()) == (state, data)
        assert types(run)[-1] == "heartbeat"


@pytest.mark.parametrize(
    "key",
    [
        *("plugin_version", "run_id", "status", "source_tier", "runtime_tier", "tier_changes"),
        *("platform_profile", "resolved_models", "tier", "scope_root", "abort_reason"),
    ],
)
def test_meta_does_not_set_what_belongs_to_the_schema(desk: Desk, key: str) -> None:
    with desk.begin() as run:
        before = desk.bytes()
        with pytest.raises(UsageError) as caught:
            run.set_metadata(key, "9.9.9")
        assert caught.value.key == key
        assert desk.bytes() == before


@pytest.mark.parametrize("value", [None, 1, 1.0, "x", [], {"a": [1]}])
def test_meta_sets_any_json_value_under_a_name_of_ones_own(desk: Desk, value: Any) -> None:
    with desk.begin() as run:
        run.set_metadata("mine", value)
        assert run.state["metadata"]["mine"] == value
        assert type(run.state["metadata"]["mine"]) is type(value)


def test_raw_events_that_name_no_phase_are_refused_and_never_get_into_the_log(desk: Desk) -> None:
    with desk.begin() as run:
        for kind in ("phase_started", "phase_done", "phase_retried"):
            with pytest.raises(UsageError, match="there is no phase 7"):
                run.engine.append(kind, {"index": 7})
        with pytest.raises(UsageError, match="initialized already"):
            run.engine.append_batch([run.engine.projection.decode_new(_line(run))[0].data])
        assert types(run) == ["run_initialized"]


def _line(run: PipelineRun) -> bytes:
    log = next((run.place.private / "log").glob("*.jsonl")).read_bytes()
    return log.split(b"\n")[1] + b"\n"


def test_commands_change_nothing_themselves() -> None:
    state = foreign_state()
    commands.done(state, 1, ["x"])
    commands.fail(state, "no")
    commands.set_metadata(state, "mine", 1)
    assert state == foreign_state()

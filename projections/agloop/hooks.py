"""The hooks of a coding client: what happens at the start and end of a session, and in between.

    session-start   mends what is to be mended, clears the flag, prints where the loop stands
    pre-compact     counts the compaction and keeps a checkpoint with the last three messages
    stop            blocks (exit 2, the reason on stderr) while a task is not done, once
    subagent-start  subagent-stop  user-prompt      an entry of the log each

I1  Nothing is created where there is no `.agloop/`.
I2  Exit 2 only blocks stopping. Whatever goes wrong is a message, and exit 0: a hook must not
    keep the client from its work.
I3  A hook waits two seconds for the lock, no longer.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import orjson

from journal.errors import Corrupt, UsageError
from journal.event import Clock, now_ms
from projections.agloop import events, takeover
from projections.agloop.agloop import AgLoop
from projections.agloop.opening import JOURNAL_FOLDER
from projections.agloop.shape import is_object
from projections.agloop.transcript import last_turns
from projections.agloop.utf16 import cut
from projections.foreign import read_json

Json = dict[str, Any]

FOLDER = ".agloop"
LOCK_TIMEOUT_S = 2.0
MOST_PROMPT_UNITS = 500
BLOCKED = 2


class Answer(msgspec.Struct, kw_only=True):
    """What a hook says: its exit code, what goes to stdout, and words for stderr."""

    exit_code: int = 0
    out: str = ""
    said: list[str] = []


def run(name: str, stdin: bytes, *, here: Path, agent: str = "", clock: Clock = now_ms) -> Answer:
    """Run a hook on the client's JSON; never raises but what ends the process (I2)."""
    answer = Answer()
    if name not in _HOOKS:
        answer.said.append(f"there is no hook {name!r}; hooks: {', '.join(_HOOKS)}")
        return answer
    try:
        given = _read(stdin, answer)
        folder = find_folder(given, here)
        if folder is not None:
            _HOOKS[name](
                _Call(given=given, folder=folder, agent=agent or name, clock=clock, answer=answer)
            )
    except Exception as error:  # noqa: BLE001 - whatever it is, the client goes on (I2)
        answer = Answer(said=[*answer.said, f"hook {name}: {error}"])
    return answer


def _read(stdin: bytes, answer: Answer) -> Json:
    if not stdin.strip():
        return {}
    try:
        value = read_json(stdin, path="standard input", lenient=True).value
    except Corrupt as error:
        answer.said.append(
            f"what came on standard input is no JSON and is passed over: {error.why}"
        )
        return {}
    return value if is_object(value) else {}


def find_folder(given: Json, here: Path) -> Path | None:
    """Return the `.agloop/` that the client means: by its cwd, its workspace, or where we are."""
    for place in (given.get("cwd"), given.get("workspaceFolder"), str(here)):
        if isinstance(place, str) and place and "\0" not in place:
            folder = Path(place) / FOLDER
            if folder.is_dir():
                return folder
    return None


class _Call(msgspec.Struct, kw_only=True):
    """One call of a hook."""

    given: Json
    folder: Path
    agent: str
    clock: Clock
    answer: Answer

    def text(self, *names: str) -> str:
        """Return the first text among some members of what the client gave."""
        for name in names:
            value = self.given.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    def has_loop(self) -> bool:
        """Say whether there is a loop, or files of one."""
        return (self.folder / JOURNAL_FOLDER).is_dir() or takeover.is_there(self.folder)

    def open(self) -> AgLoop:
        """Open the loop; what is mended on the way is said."""
        return AgLoop.open(
            self.folder,
            lock_timeout_s=LOCK_TIMEOUT_S,
            on_message=self.answer.said.append,
            clock=self.clock,
        )

    def append(self, event: msgspec.Struct) -> None:
        """Append one event, if there is a loop."""
        if self.has_loop():
            with self.open() as loop:
                loop.run(lambda _: [event], agent=self.agent)


# --- the hooks -----------------------------------------------------------------------------------


def _start_session(call: _Call) -> None:
    if not call.has_loop():
        return
    event = events.SessionStarted(source=call.text("source"), session_id=call.text("session_id"))
    with call.open() as loop:
        loop.run(lambda _: [event], agent=call.agent)
        context = describe(loop.state, call.answer.said)
    found = {"hookEventName": "SessionStart", "additionalContext": context}
    call.answer.out = orjson.dumps({"hookSpecificOutput": found}).decode()


def describe(state: Json, said: Sequence[str]) -> str:
    """Say where a loop stands, for an agent that has forgotten it."""
    tasks = state["tasks"]
    done = sum(task["status"] == "done" for task in tasks)
    failed = sum(task["status"] == "failed" for task in tasks)
    last = state["last_action"]
    context = state["compaction_context"]
    current = next((task for task in tasks if task["id"] == state["current_task_id"]), None)
    lines = [
        f"AgLoop phase: {state['current_phase']} (iteration {state['iteration']})",
        f"Feature: {state['feature_name'] or 'not named yet'}",
        f"Progress: {done}/{len(tasks)} tasks" + (f", {failed} failed" if failed else ""),
        "Current task: "
        + (f"{current['id']} ({current['status']}): {current['title']}" if current else "none"),
        f"Last action: {last['action']} by {last['agent']} at {last['timestamp']}"
        + (f" ({last['task_id']})" if last["task_id"] else ""),
        f"Compactions: {context['compaction_count']}",
        f"Pending decision: {_shown(context['pending_decision'])}",
        f"Last delegation: {_shown(context['last_delegation'])}",
    ]
    return "\n".join([*lines, *(f"Note: {text}" for text in said)])


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _compact(call: _Call) -> None:
    if not call.has_loop():
        return
    turns: list[str] = []
    if path := call.text("transcript_path"):
        try:
            turns = last_turns(Path(path).expanduser())
        except (OSError, ValueError, RuntimeError) as error:
            call.answer.said.append(f"the transcript cannot be read: {error}")
    with call.open() as loop:
        loop.compact(turns=turns, trigger=call.text("trigger"), agent=call.agent)


def _stop(call: _Call) -> None:
    if not (call.folder / JOURNAL_FOLDER).is_dir() and not _has_sound_state(call.folder):
        return
    asked = call.given.get("stop_hook_active") is True
    session = call.text("session_id")
    reasons: list[str] = []

    def decide(state: Any) -> Sequence[msgspec.Struct]:
        reason, is_blocked = judge_stop(state, asked=asked)
        if is_blocked:
            reasons.append(reason)
            return [events.StopBlocked(reason=reason, session_id=session)]
        return [events.StopAllowed(reason=reason, session_id=session)]

    with call.open() as loop:
        loop.run(decide, agent=call.agent)
    if reasons:
        call.answer.exit_code = BLOCKED
        call.answer.said.append(reasons[-1])


def _has_sound_state(folder: Path) -> bool:
    try:
        return takeover.find(folder).state_file_is_sound
    except (Corrupt, UsageError):
        return False


def judge_stop(state: Json, *, asked: bool) -> tuple[str, bool]:
    """Return why the client may stop, or why not and True."""
    if asked or state["stop_hook_active"]:
        return "it was asked to go on once already", False
    tasks = state["tasks"]
    if state["current_phase"] == "init" and not tasks:
        return "the loop has not begun", False
    left = [task for task in tasks if task["status"] != "done"]
    if not left:
        return "no task is left", False
    named = ", ".join(f"{task['id']} ({task['status']})" for task in left[:5])
    more = f" and {len(left) - 5} more" if len(left) > 5 else ""
    return (
        f"{len(left)} of {len(tasks)} tasks are not done: {named}{more}. Phase: "
        f"{state['current_phase']}. Go on with the next one (journal agloop next), or tell the "
        "user what keeps you from it.",
        True,
    )


def _start_subagent(call: _Call) -> None:
    call.append(events.SubagentStarted(agent=_agent(call), session_id=call.text("session_id")))


def _stop_subagent(call: _Call) -> None:
    call.append(events.SubagentCompleted(agent=_agent(call), session_id=call.text("session_id")))


def _agent(call: _Call) -> str:
    names = ("agent_name", "agent_type", "subagent_type", "subagent", "agent", "agent_id")
    return cut(call.text(*names), MOST_PROMPT_UNITS)


def _take_prompt(call: _Call) -> None:
    prompt = cut(call.text("prompt", "user_prompt", "message"), MOST_PROMPT_UNITS)
    call.append(events.PromptReceived(prompt=prompt, session_id=call.text("session_id")))


_HOOKS: dict[str, Callable[[_Call], None]] = {
    "session-start": _start_session,
    "pre-compact": _compact,
    "stop": _stop,
    "subagent-start": _start_subagent,
    "subagent-stop": _stop_subagent,
    "user-prompt": _take_prompt,
}
NAMES = tuple(_HOOKS)

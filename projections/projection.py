"""What the events of a journal mean: a projection is a name, typed events and how to apply them.

    class PhaseEntered(msgspec.Struct, forbid_unknown_fields=True):
        phase: str

    def enter_phase(state, event):           # event.seq, .time, .actor, .data
        state["phase"] = event.data.phase
        return state

    PROJECTION = Projection("phases", events={PhaseEntered: enter_phase}, initial=dict)

I1  A fold is a pure function of the log: an apply function takes no clock, no random, no input but
    its arguments. It owns the state, may change it in place, and returns it.
I2  Blocks of lines are decoded typed, at once (see `projections.typed_lines`). There is no other
    Python per event than the apply function itself.
I3  Unknown types, and data that does not fit its class, are counted and leave the state alone.
I4  The four engine events that carry state are applied here, for every projection alike.

It reads no files; `projections.view` writes the state where people look.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from journal.errors import Corrupt, JournalError, ProjectionError, UsageError
from journal.event import CARRIES_STATE, LOST, is_engine_type
from projections.patch import apply_patch
from projections.patch.touching import touched_by_patch
from projections.revision import compute_revision
from projections.typed_lines import Carried, TypedLines, Unknown, event_type
from projections.view_kinds import JSON_VIEW, DocumentView, View, render_json

Apply = Callable[[Any, Any], Any]
"""(state, event) -> state; see I1."""

Check = Callable[[Any], None]
"""Raises `UsageError` for a state that breaks a rule of the projection."""

ReadView = Callable[[bytes, Path], Any]
"""(bytes, path) -> the value that somebody else wrote into a view; raises `Corrupt`."""

Touches = Callable[[Any], list[str]]
"""(event) -> pointers of all the places that it can change, as `projections.patch.touching` has
them, whatever the state; told without the state, so that a search can pass over an event."""

NoteRebuild = Callable[[str, bytes], tuple[str, Any] | None]
"""(why, the bytes there) -> (type, data) of an event that says a view is written again, or None."""

_TOTAL = (
    "An apply function must accept every event that it once accepted; "
    "mend its code, the log is as it was."
)


class Hole(Exception):
    """A fold has met `journal.lost` at `seq`: the state is not known from there on."""

    def __init__(self, seq: int) -> None:
        super().__init__(seq)
        self.seq = seq


class Projection:
    """A projection; see this file's docstring.

    `events` maps each event's struct to its apply function. `upcasts` are structs of old types,
    each with an `upcast()` that returns a newer struct; they are read and can't be appended.
    `check` sees the state once after each append, before the write. `adopts`: a view that
    somebody else changed validly becomes an event, unless `check_adoption(old, new)` raises
    `UsageError`. `views`: what is kept equal to the state. `read_view`: how foreign bytes of a
    document view are read, strict JSON if not given. `note_rebuild`: makes the event that
    remembers a document view found missing, broken or put back. `rebuilds_unreadable`: one that
    cannot be read is written again at once, where it would be `Drift` else.
    `revision`: a fingerprint of the code; computed from its source if not given. `makes_json`:
    its apply functions are known to put JSON values only into the state, which then need not be
    read back to make sure. `touches`: where an event can change the state, for a quicker search
    for changes; events of old types are always looked at.
    """

    def __init__(
        self,
        name: str,
        *,
        events: Mapping[type[Any], Apply],
        initial: Callable[[], Any],
        check: Check | None = None,
        adopts: bool = False,
        check_adoption: Callable[[Any, Any], None] | None = None,
        upcasts: Sequence[type[Any]] = (),
        views: Sequence[View] | None = None,
        read_view: ReadView | None = None,
        note_rebuild: NoteRebuild | None = None,
        rebuilds_unreadable: bool = False,
        revision: str | None = None,
        makes_json: bool = False,
        touches: Touches | None = None,
    ) -> None:
        """Build the decoder; raises `UsageError` for a type name that cannot be one."""
        self.name = name
        self.events = dict(events)
        self.initial = initial
        self.adopts = adopts
        self.makes_json = makes_json
        self.read_view = read_view
        self.note_rebuild = note_rebuild
        self.rebuilds_unreadable = rebuilds_unreadable
        self.views: tuple[View, ...] = tuple(views) if views is not None else (JSON_VIEW,)
        self._check = check
        self._check_adoption = check_adoption
        self._revision = revision
        self._upcasts = tuple(upcasts)
        self.types = {event_type(event): event for event in self.events}
        self.retired = {event_type(event) for event in self._upcasts}
        self._typed = TypedLines(self._all_events())
        self._apply: dict[type[Any], Apply] = {Unknown: _leave}
        for event in self._all_events():
            line = self._typed.classes[event_type(event)]
            self._apply[line] = self.events.get(event) or self._apply_upcast
        for engine_type, line in self._typed.engine_classes.items():
            self._apply[line] = _apply_carried if engine_type in CARRIES_STATE else _leave
        self._touches = {
            line: _touch_nothing
            if apply is _leave
            else _touched_by_carried
            if apply is _apply_carried
            else touches
            for line, apply in self._apply.items()
            if apply != self._apply_upcast
        }
        self._knows_parts = False
        self._apply_to_hole = {**self._apply, self._typed.engine_classes[LOST]: _meet_hole}

    def _all_events(self) -> list[type[Any]]:
        return [*self.events, *self._upcasts]

    @property
    def revision(self) -> str:
        """The fingerprint of the projection's code, empty where its source cannot be had."""
        if self._revision is None:
            parts: Iterable[Any] = [self.initial, self._check, *self.events.values()]
            views = [
                view.render if isinstance(view, DocumentView) else view.line for view in self.views
            ]
            modules = {part.__module__ for part in [*parts, *self._all_events(), *views] if part}
            self._revision = compute_revision(modules - {"builtins", render_json.__module__})
        return self._revision

    # --- folding ---------------------------------------------------------------------------------

    def fold(self, state: Any, lines: bytes, unknown: list[Unknown] | None = None) -> Any:
        """Apply the events of checked lines to `state` and return the new state.

        Lines that are not understood are added to `unknown`. Raises `ProjectionError` with the
        seq where an apply function fails.
        """
        return self.apply(state, self.decode(lines, unknown))

    def decode(self, lines: bytes, unknown: list[Unknown] | None = None) -> list[Any]:
        """Decode checked lines typed; a line that is not understood becomes an `Unknown`.

        Raises `ValueError` for a line that is no event, though it checks.
        """
        return self._typed.decode(lines, unknown)

    def decode_parts(self, lines: bytes) -> list[Any] | None:
        """Decode as `decode` does, each event with its `part`; None where one is not understood."""
        events = self._typed.decode_parts(lines)
        if not self._knows_parts:
            # New tables, as a copy of this projection has the old ones too.
            self._apply = self._with_parts(self._apply)
            self._apply_to_hole = self._with_parts(self._apply_to_hole)
            self._knows_parts = True
        return events

    def _with_parts(self, table: dict[type[Any], Apply]) -> dict[type[Any], Apply]:
        return table | {part: table[line] for line, part in self._typed.with_part.items()}

    def apply(self, state: Any, events: list[Any], *, to_hole: bool = False) -> Any:
        """Apply decoded events to `state`; raises `ProjectionError` (`Corrupt` passes through).

        `to_hole` raises `Hole` at a `journal.lost`, with the events before it applied.
        """
        table = self._apply_to_hole if to_hole else self._apply
        event = None
        try:
            for event in events:
                state = table[event.__class__](state, event)
        except (Corrupt, Hole):
            raise
        except Exception as error:
            raise self._failure(event, error) from error
        return state

    def apply_each(self, state: Any, events: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield each decoded event with the state after it, which the next one may change.

        Raises as `apply` does, and `Hole` at a `journal.lost`.
        """
        table = self._apply_to_hole
        for event in events:
            try:
                state = table[event.__class__](state, event)
            except (Corrupt, Hole):
                raise
            except Exception as error:
                raise self._failure(event, error) from error
            yield event, state

    def touched(self, event: Any) -> list[str] | None:
        """Return the places that a decoded event can change, None where that is not known.

        All other places have the same value after it; see `projections.patch.touching`.
        """
        touches = self._touches.get(event.__class__)
        return None if touches is None else touches(event)

    def _failure(self, event: Any, error: Exception, advice: str = _TOTAL) -> JournalError:
        seq = getattr(event, "seq", None)
        name = getattr(event, "type", "")
        said = (
            error.message if isinstance(error, JournalError) else f"{type(error).__name__}: {error}"
        )
        return ProjectionError(
            f"projection {self.name!r} failed on event {seq} ({name}): {said}",
            projection=self.name,
            seq=seq,
            advice=advice,
        )

    def _apply_upcast(self, state: Any, event: Any) -> Any:
        data = event.data
        while type(data) not in self.events:
            data = data.upcast()
        newer = _Upcasted(event.seq, event.time, event_type(type(data)), event.actor, data)
        return self.events[type(data)](state, newer)

    # --- appending -------------------------------------------------------------------------------

    def name_type(self, wanted: str | msgspec.Struct) -> str:
        """Return the type name to append; raises `UsageError` for one that is not known."""
        name = wanted if isinstance(wanted, str) else event_type(type(wanted))
        if name in self.types:
            return name
        why = f"{name!r} is not an event of projection {self.name!r}"
        if is_engine_type(name):
            why = f"{name!r} is one of the engine's own events"
        elif name in self.retired:
            why = f"{name!r} is an old event that is read but not written any more"
        known = ", ".join(sorted(self.types))
        raise UsageError(why, key="type", advice=f"Known events: {known}.")

    def line_of(self, name: str) -> type[Any]:
        """Return the class of this type's decoded lines: (seq, time, data, actor)."""
        return self._typed.classes[name]

    def decode_new(self, lines: bytes) -> list[Any]:
        """Decode lines that are about to be written; raises `UsageError` for data that is unfit."""
        return self._typed.decode_new(lines)

    def apply_new(self, state: Any, events: list[Any], *, check: bool = True) -> Any:
        """Apply events that are about to be written and check the result.

        Raises `UsageError` where an apply function or `check` refuses, `ProjectionError` where
        one fails.
        """
        table = self._apply
        event = None
        try:
            for event in events:
                state = table[event.__class__](state, event)
        except UsageError:
            raise
        except Exception as error:
            advice = "To refuse an event raise journal.UsageError. Nothing was written."
            raise self._failure(event, error, advice) from error
        if check and self._check is not None:
            self.check(state)
        return state

    def check(self, state: Any) -> None:
        """Raise `UsageError` where the state breaks a rule of the projection."""
        if self._check is not None:
            self._ask("check", self._check, state)

    def check_adoption(self, old: Any, new: Any) -> None:
        """Raise `UsageError` where a view changed from outside may not be adopted."""
        if self._check_adoption is not None:
            self._ask("check_adoption", self._check_adoption, old, new)

    def _ask(self, name: str, rule: Callable[..., None], *states: Any) -> None:
        """Let a rule look; raises `ProjectionError` where it fails instead of refusing."""
        try:
            rule(*states)
        except JournalError:
            raise
        except Exception as error:
            raise ProjectionError(
                f"projection {self.name!r}: its {name} raised {type(error).__name__}: {error}",
                projection=self.name,
                advice="For a broken rule raise journal.UsageError. Nothing was written.",
            ) from error


class _Upcasted(msgspec.Struct, frozen=True):
    """What an apply function gets for an event of an old type."""

    seq: int
    time: str
    type: str
    actor: str
    data: Any


def _leave(state: Any, event: Any) -> Any:  # noqa: ARG001 - the shape of an apply function
    return state


def _meet_hole(state: Any, event: Any) -> Any:  # noqa: ARG001 - the shape of an apply function
    raise Hole(event.seq)


def _apply_carried(state: Any, event: Any) -> Any:
    carried: Carried = event.data
    if carried.state is not msgspec.UNSET:
        return carried.state
    if isinstance(carried.patch, list):
        return apply_patch(state, carried.patch)
    return state


def _touch_nothing(event: Any) -> list[str]:  # noqa: ARG001 - the shape of `Touches`
    return []


def _touched_by_carried(event: Any) -> list[str]:
    carried: Carried = event.data
    if carried.state is not msgspec.UNSET:
        return [""]
    return touched_by_patch(carried.patch) if isinstance(carried.patch, list) else []

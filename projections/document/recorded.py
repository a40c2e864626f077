"""What of a source the journal has already, so that an import goes on where it stopped.

I1  Source and journal are walked side by side, by `n`. Of each version on both sides the source's
    words are compared (path, author, time, message), and its text where that was kept; of the
    last one that parses also the value, with the state. So another source, or one whose past was
    rewritten, is refused before anything is written.
I2  Nothing is inserted into the past: a version that lies before the last imported one and is not
    in the journal is a problem.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from journal.errors import UsageError
from journal.event import Event
from projections.document.projection import Imported
from projections.document.translation import content_of, parse, text_of
from projections.document.version import Problem, Version
from projections.patch import equal
from projections.typed_lines import event_type

if TYPE_CHECKING:
    from journal import Engine

_TYPE = event_type(Imported)


class Recorded:
    """The versions that a journal has, to be asked for in the order of `n`."""

    def __init__(self, engine: "Engine") -> None:
        """Stand before the first one."""
        self._engine = engine
        self._events = _imported(engine.events())
        self._next = next(self._events, None)
        self._last: tuple[Event, Version] | None = None
        self._passed: Event | None = None
        self._met = False

    def find(self, version: Version) -> Event | Problem | None:
        """Return the event of `version`, a problem (I2), or None for a version that is new.

        Raises `UsageError` where event and version differ.
        """
        while self._next is not None and self._next.data["n"] < version.n:
            self._passed, self._next = self._next, next(self._events, None)
        if self._next is None:
            self._refuse_other_path(version)
            return None
        if self._next.data["n"] > version.n:
            return Problem(
                version.where,
                f"version {version.n} is not in the journal, but later ones are: history only "
                "grows at its end",
            )
        self._met = True
        _compare(self._next, version)
        if "patch" in self._next.data:
            self._last = self._next, version
        return self._next

    def _refuse_other_path(self, version: Version) -> None:
        """Refuse a source of which the journal has no version, if it is of another file (I1)."""
        before = self._passed
        if self._met or before is None:
            return
        path = before.data.get("path", "")
        if path and version.path and path != version.path:
            raise UsageError(
                f"{version.where}: this journal has the history of {path!r} (event {before.seq}), "
                f"and this is {version.path!r}",
                key="path",
                advice="Nothing was imported; import this one into a journal of its own.",
            )

    def check_last(self) -> None:
        """Compare the last version that has a value; raises `UsageError` where it differs."""
        if self._last is None:
            return
        event, version = self._last
        parsed = parse(version)
        if parsed.why or not equal(parsed.value, self._engine.state_at(event.seq)):
            raise _other_source(event, version, "content")


def _imported(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events of versions; those whose `n` goes back, made by hand, are passed over."""
    last = 0
    for event in events:
        if event.type == _TYPE and event.data["n"] > last:
            last = event.data["n"]
            yield event


def _compare(event: Event, version: Version) -> None:
    """Compare all but the value; raises `UsageError` that names the first difference."""
    data: dict[str, Any] = event.data
    words = {
        "path": version.path,
        "author": version.author,
        "source_time": version.time,
        "message": version.message,
    }
    for name, text in words.items():
        recorded = data.get(name, "")
        if recorded != text:
            differs = f"is {recorded[:80]!r} there and {text[:80]!r} here"
            raise _other_source(event, version, name, differs)
    if data.get("deleted", False) != (version.content is None):
        raise _other_source(event, version, "content")
    kept = {name: data[name] for name in ("text", "text_b64") if name in data}
    if kept and (version.value is not msgspec.UNSET or kept != text_of(content_of(version))):
        raise _other_source(event, version, "content")


def _other_source(
    event: Event, version: Version, name: str, differs: str = "differs"
) -> UsageError:
    return UsageError(
        f"{version.where}: version {version.n} is not the one that the journal has as event "
        f"{event.seq}: its {name} {differs}",
        key=name,
        advice="A journal takes in one history, which may grow at its end and is not rewritten. "
        "Nothing was imported; import this one into a journal of its own.",
    )

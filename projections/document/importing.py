"""The import of a history: one `imported` event for each version, in order, at the version's time.

I1  A source is only read. What goes wrong before the first append leaves the journal as it was,
    or not made at all.
I2  Versions go in by batches of bounded count and size, each all or nothing. So a killed import
    leaves whole versions, and the next run goes on behind them (`recorded`).
I3  Somebody else who changes the state meanwhile is noticed (`expected_seq`), never overrun.
I4  What is no version is reported with its place and left out, or, if `strict`, refuses all.

Memory: one batch, the version at hand, and two copies of the state.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

import journal
from journal.config import FILE_NAME
from journal.errors import Conflict, UsageError
from journal.event import Draft, Event, parse_time
from projections.document.projection import PROJECTION, Imported
from projections.document.recorded import Recorded
from projections.document.report import ImportReport
from projections.document.translation import Translation, translate
from projections.document.version import Problem, Version
from projections.typed_lines import event_type

if TYPE_CHECKING:
    from journal import Engine

BATCH_VERSIONS = 256
BATCH_BYTES = 4 << 20
_TYPE = event_type(Imported)
_ACTOR_CHARACTERS = 1000

Versions = Iterable[Version | Problem]
Progress = Callable[[int, int | None], None]
"""(done, total): how many versions have been looked at, of how many if that is known."""


def import_versions(
    target: "Engine | str | os.PathLike[str]",
    source: Versions,
    *,
    strict: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Append an `imported` event for each version of `source` that the journal does not have.

    `target` is an engine open for writing on a journal of the projection `document`, or a path:
    the journal there is opened, or made if there is none, its first event at the first version's
    time. `strict` reads the source twice and imports nothing if anything in it is no version.
    Raises `UsageError` for another source than the one imported before, another projection, or
    with `strict` the problems found; `Conflict` where somebody else changed the state meanwhile.
    """
    if strict and iter(source) is source:
        raise UsageError(
            "a strict import reads its source twice, and this iterator can be read only once",
            advice="Give a list, or what read_versions or read_git returns.",
        )
    if not isinstance(target, (str, os.PathLike)):
        return _import_into(target, source, strict, progress)
    path = Path(target)
    if (path / FILE_NAME).exists():
        with journal.open(path) as engine:
            return _import_into(engine, source, strict, progress)
    if strict:
        _refuse_problems(None, source)
    report = ImportReport()
    versions = _Checked(source, report, progress)
    first = next(versions, None)
    if first is None:
        return report
    with journal.init(path, projection=PROJECTION, time=parse_time(first.time)) as engine:
        versions.push_back(first)
        _append_all(engine, _plan(engine, versions, report), report)
    return report


def _import_into(
    engine: "Engine", source: Versions, strict: bool, progress: Progress | None
) -> ImportReport:
    if Imported not in engine.projection.events:
        raise UsageError(
            f"this journal's projection is {engine.projection.name!r}; a history of versions goes "
            f"into one of {PROJECTION.name!r}",
            advice="Import it into a new journal.",
        )
    engine.refresh()
    if strict:
        _refuse_problems(engine, source)
    report = ImportReport()
    versions = _Checked(source, report, progress)
    _append_all(engine, _plan(engine, versions, report), report)
    return report


class _Planned(NamedTuple):
    version: Version
    translation: Translation


class _Checked:
    """The versions of a source that are sound and in order; the others go into the report."""

    def __init__(self, source: Versions, report: ImportReport, progress: Progress | None) -> None:
        self._items = iter(source)
        self._report = report
        self._progress = progress
        self._total = _count(source) if progress else None
        self._done = 0
        self._last_n = 0
        self._waiting: Version | None = None

    def __iter__(self) -> Iterator[Version]:
        return self

    def push_back(self, version: Version) -> None:
        """Let `version` be the next one again."""
        self._waiting = version

    def __next__(self) -> Version:
        if self._waiting is not None:
            version, self._waiting = self._waiting, None
            return version
        for item in self._items:
            self._done += 1
            if self._progress is not None:
                self._progress(self._done, self._total)
            problem = item if isinstance(item, Problem) else _fault(item, self._last_n)
            if problem is not None:
                self._report.add_problem(problem)
            elif isinstance(item, Version):
                self._last_n = item.n
                return item
        raise StopIteration


def _fault(version: Version, last_n: int) -> Problem | None:
    """Say why a version cannot be used, None if it can."""
    if not last_n < version.n < 2**63:
        return Problem(version.where, f"n is {version.n} after {last_n}; it must count up")
    given = (version.content is not msgspec.UNSET) + (version.value is not msgspec.UNSET)
    if given != 1:
        return Problem(version.where, "it must have either a content or a value")
    if version.why and not isinstance(version.content, bytes):
        return Problem(version.where, "it says why it does not parse, but has no content")
    try:
        parse_time(version.time)
    except UsageError as error:
        return Problem(version.where, error.message)
    return None


def _count(source: Versions) -> int | None:
    if isinstance(source, Sized):
        return len(source)
    total: Callable[[], int | None] | None = getattr(source, "total", None)
    return total() if total is not None else None


def _refuse_problems(engine: "Engine | None", source: Versions) -> None:
    """Go through a whole import without appending; raises `UsageError` if it has problems."""
    report = ImportReport()
    for _ in _plan(engine, _Checked(source, report, None), report):
        pass
    if report.ok:
        return
    found = "\n".join(f"  {problem}" for problem in report.problems[:10])
    more = report.problem_count - 10
    raise UsageError(
        f"{_problems(report.problem_count)} in the source, so nothing was imported:\n{found}"
        + (f"\n  and {more} more" if more > 0 else ""),
        advice="Mend the source, or import without strict: all but these.",
    )


def _problems(count: int) -> str:
    return "1 problem" if count == 1 else f"{count} problems"


def _plan(engine: "Engine | None", versions: _Checked, report: ImportReport) -> Iterator[_Planned]:
    """Yield each new version with its event; no engine stands for an empty journal."""
    state = PROJECTION.initial() if engine is None else engine.state
    for version in versions if engine is None else _skip_recorded(engine, versions, report):
        try:
            translation = translate(version, state)
        except UsageError as error:
            report.add_problem(Problem(version.where, error.message))
            continue
        state = translation.state
        yield _Planned(version, translation)


def _skip_recorded(engine: "Engine", versions: _Checked, report: ImportReport) -> Iterator[Version]:
    """Yield the versions that the journal does not have."""
    recorded = Recorded(engine)
    for version in versions:
        found = recorded.find(version)
        if found is None:
            versions.push_back(version)
            break
        if isinstance(found, Problem):
            report.add_problem(found)
        else:
            report.already += 1
    recorded.check_last()
    yield from versions


def _append_all(engine: "Engine", planned: Iterator[_Planned], report: ImportReport) -> None:
    seq = engine.seq
    batch: list[Draft] = []
    size_bytes = 0
    for version, translation in planned:
        _note(version, translation.data, report)
        batch.append(
            Draft(
                type=_TYPE,
                data=translation.data,
                actor=version.author[:_ACTOR_CHARACTERS],
                time=parse_time(version.time),
            )
        )
        size_bytes += translation.size_bytes
        if len(batch) >= BATCH_VERSIONS or size_bytes >= BATCH_BYTES:
            seq = _append(engine, batch, seq, report)
            batch, size_bytes = [], 0
    if batch:
        seq = _append(engine, batch, seq, report)
    report.seq = engine.seq


def _append(engine: "Engine", batch: list[Draft], seq: int, report: ImportReport) -> int:
    try:
        events: Sequence[Event] = engine.append_batch(batch, expected_seq=seq)
    except Conflict as error:
        raise Conflict(
            f"somebody else changed the state during the import: {error.message}",
            expected=error.expected,
            actual=error.actual,
            advice="Run the import again: it goes on where it stopped.",
        ) from error
    report.imported += len(events)
    report.late += sum(event.time > draft.time for event, draft in zip(events, batch, strict=True))
    return events[-1].seq


def _note(version: Version, data: dict[str, Any], report: ImportReport) -> None:
    report.deletions += "deleted" in data
    if "why" in data:
        report.texts += 1
        report.add_note(version.where, f"kept as text: {data['why']}")
    for warning in data.get("warnings", ()):
        report.add_note(version.where, warning)

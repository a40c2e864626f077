"""The commands that keep a journal whole: status, verify, rebuild, adopt, repair.

I1  `verify` answers for a damaged journal, too: a report with its problems, and exit code 5.
"""

import sys
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from journal import plural
from journal.cli import finding, given, opening, output, parsing
from journal.cli.anchoring import Anchors, AnchorsFile, read_anchors
from journal.cli.listing import last_seq
from journal.cli.options import LOCK_TIMEOUT, AsJson, Folder, LockTimeout, read_seconds
from journal.cli.progress import Bar
from journal.errors import Corrupt, UsageError
from journal.event import ADOPTED
from journal.log.history import FOLDER_NAME

if TYPE_CHECKING:
    from journal.engine.repairing import RepairPlan, SegmentRepair
    from journal.engine.reports import Problem, Status, Verified


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    parsing.add(app, "status", status, "journal status")
    parsing.add(
        app,
        "verify",
        verify,
        "journal verify",
        "journal verify --anchor 120:SHA256 --json",
        "journal verify --anchors notes/heads.txt",
    )
    parsing.add(app, "rebuild", rebuild, "journal rebuild")
    parsing.add(app, "adopt", adopt, "journal adopt")
    parsing.add(app, "repair", repair, "journal repair --dry-run", "journal repair")


# --- status --------------------------------------------------------------------------------------


def status(folder: Folder = None, as_json: AsJson = False) -> None:
    """Say what the journal is, where it stands, what to do."""
    with opening.for_reporting(folder) as engine:
        found = engine.status()
    if as_json:
        output.put_report(found)
        return
    for line in _describe(found):
        output.put(output.plain(line))
    wrong = _what_is_wrong(found)
    if wrong:
        output.put(output.paint("not healthy:", "bad", sys.stdout) + " " + output.plain(wrong[0]))
        for line in wrong[1:]:
            output.put(f"  {output.plain(line)}")
    else:
        healthy = output.paint("healthy", "good", sys.stdout)
        output.put(f"{healthy} as far as was looked at; `journal verify` reads every byte")


def _describe(found: "Status") -> list[str]:
    log = f"{output.count(found.segments, 'segment')}, {output.size(found.log_bytes)}"
    state = f"{output.size(found.state_bytes)} as JSON" if found.state_bytes else "not known"
    lines = [
        f"{found.path}: a journal of projection {found.projection}, format {found.format}, "
        f"durability {found.durability}",
        f"  id       {found.id}",
        f"  events   {found.seq:,}, the last at {found.time or 'no time yet'}",
        f"  on disk  {found.synced:,} of them, as far as is known",
        f"  log      {log}",
        f"  state    {state}",
        f"  kept     {output.count(found.snapshots, 'snapshot')}",
    ]
    for view in found.views:
        at = "" if view.seq is None else f", as of event {view.seq:,}"
        lines.append(f"  view     {view.path}: {view.status}{at}")
        if view.status == "reformatted":
            lines.append(f"           {view.why}; {view.advice}")
    if found.writer:
        lines.append(f"  writer   {found.writer} (the last one)")
    if found.unfinished_bytes:
        lines.append(
            f"  tail     {output.count(found.unfinished_bytes, 'byte')} that are no whole append: "
            "one is under way, or a crash cut it off and the next writer sets it aside"
        )
    looked = "every byte"
    if found.read_after:
        looked += f" behind event {found.read_after:,}, before it the ends and sizes of segments"
    up_to = "" if found.state_bytes else ", up to what is damaged"
    lines.append(f"  looked   at {looked}{up_to}")
    for kind, number in found.unknown.items():
        lines.append(f"  unknown  {output.count(number, 'event')} of type {kind}, left alone")
    return lines


def _what_is_wrong(found: "Status") -> list[str]:
    wrong: list[str] = []
    for view in found.views:
        if view.status not in ("healthy", "behind", "reformatted"):
            wrong.append(f"{view.path} is {view.status}: {view.why}")
            wrong += [view.advice] if view.advice else []
    if found.messages:
        wrong += [*found.messages, "`journal verify` lists every problem, and what to do about it"]
    return wrong


# --- verify --------------------------------------------------------------------------------------


def verify(
    folder: Folder = None,
    anchors: Anchors = None,
    anchors_file: AnchorsFile = "",
    as_json: AsJson = False,
) -> None:
    """Check every byte and every event; change nothing.

    The log, its chain, the snapshots and the views are compared with a fold from nothing; where the
    code of the projection cannot be imported, that is a problem, and the log is checked. An anchor
    proves that nothing up to it has changed since `journal head` printed it. The exit code is 5
    where there are problems; each is listed with its place.
    """
    pairs = read_anchors(anchors, anchors_file)
    with (
        opening.for_reporting(folder, without_code=True) as engine,
        Bar("verifying") as bar,
    ):
        found = engine.verify(pairs, bar)
    if as_json:
        output.put_report(found)
    else:
        _put_verified(found)
    if not found.ok:
        raise typer.Exit(Corrupt.exit_code)


def _put_verified(found: "Verified") -> None:
    for problem in found.problems:
        what = output.paint(f"{problem.kind}:", "bad", sys.stdout)
        output.put(f"{what} {output.plain(_place(problem) + problem.message)}")
    for note in found.notes:
        output.put(output.plain(f"note: {note}"))
    for kind, number in found.unknown.items():
        many = output.count(number, "event")
        output.put(output.plain(f"note: {many} of type {kind} not understood, and left alone"))
    read = f"{output.count(found.events, 'event')} in {output.count(found.segments, 'segment')}"
    if found.ok:
        good = output.paint("ok:", "good", sys.stdout)
        output.put(f"{good} {read}; head {found.head.seq}:{found.head.sha256}")
    else:
        output.put(f"{output.count(len(found.problems), 'problem')} in {read}")
        output.say("\n".join(["nothing was changed", *found.advice]))


def _place(problem: "Problem") -> str:
    parts = [
        problem.segment,
        "" if problem.line is None else f"line {problem.line}",
        "" if problem.offset is None else f"byte {problem.offset}",
    ]
    place = ", ".join(part for part in parts if part)
    return f"{place}: " if place else ""


# --- rebuild, adopt ------------------------------------------------------------------------------


def rebuild(
    folder: Folder = None, lock_timeout: LockTimeout = LOCK_TIMEOUT, as_json: AsJson = False
) -> None:
    """Put every view and checkpoint back from the log.

    The whole log is folded anew, and what differs is written again. What is replaced, a view that
    somebody else changed among it, is kept in quarantine/.
    """
    with (
        opening.for_writing(folder, lock_timeout, on_drift="leave") as engine,
        Bar("rebuilding") as bar,
    ):
        found = engine.rebuild(bar)
    if as_json:
        output.put_report(found)
        return
    output.put(f"folded {output.count(found.events, 'event')} anew")
    for name in found.written:
        output.put(output.plain(f"  written again  {name}"))
    for name in found.removed:
        output.put(output.plain(f"  removed        {name}"))
    if found.equal:
        output.put(f"  equal          {output.count(len(found.equal), 'file')}")


def adopt(folder: Folder = None, lock_timeout: LockTimeout = LOCK_TIMEOUT) -> None:
    """Record what somebody else changed in a view.

    The difference becomes an event, which is printed.
    """
    path = finding.find(folder)
    # Where there is no log, opening says what is wrong.
    before = last_seq(path) if (path / FOLDER_NAME).is_dir() else 0
    with opening.for_writing(folder, lock_timeout, on_drift="adopt") as engine:
        # Opening adopts what it finds; what came in between, this does.
        engine.adopt()
        events = [event for event in engine.events(after=before) if event.type == ADOPTED]
    for event in events:
        output.put_event(event)
    if not events:
        output.say("nothing to adopt: the views are as the log has them")


# --- repair --------------------------------------------------------------------------------------


def repair(
    *,
    folder: Folder = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what can be saved; change nothing.")
    ] = False,
    state: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Today's state, where events are lost and nothing else has it.",
            show_default=False,
        ),
    ] = "",
    skip_lost: Annotated[
        bool,
        typer.Option("--skip-lost", help="Go on as if the lost events had changed nothing."),
    ] = False,
    lock_timeout: LockTimeout = LOCK_TIMEOUT,
    as_json: AsJson = False,
) -> None:
    """Replace damaged segments by what is readable of them.

    The damaged ones stay, whole, in quarantine/. Good events keep their bytes, each unreadable span
    becomes one `journal.lost` line, and healthy segments are not touched.
    """
    from journal.engine import repairing

    if state and skip_lost:
        raise UsageError("--state and --skip-lost are two answers to one question: give one")
    value = given.read_value(state) if state else msgspec.UNSET
    path = finding.find(folder)
    opening.let_own_projections_in()
    if dry_run:
        found = repairing.plan(path)
    else:
        found = repairing.repair(
            path,
            state=value,
            skip_lost=skip_lost,
            lock_timeout_s=read_seconds(lock_timeout),
            on_message=output.say,
        )
    if as_json:
        output.put_report(found)
        return
    for line in _describe_repair(found, dry_run=dry_run):
        output.put(output.plain(line))


def _describe_repair(found: "RepairPlan", *, dry_run: bool) -> list[str]:
    if not found.segments:
        return [f"{found.path}: nothing to repair"]
    lines: list[str] = []
    for one in found.segments:
        lines += _describe_segment(one, dry_run=dry_run)
    if not found.lost_events:
        lines.append("no event is lost")
    elif found.state_from:
        lines.append(f"today's state comes from: {found.state_from}")
    else:
        lines.append(
            "no later snapshot or view has today's state: a repair wants --state FILE "
            "or --skip-lost"
        )
    if dry_run:
        lines.append("nothing was changed; `journal repair` does it")
    elif found.seq:
        lines.append(f"repaired; event {found.seq} says so")
    return lines


def _describe_segment(one: "SegmentRepair", *, dry_run: bool) -> list[str]:
    kept, lost = ("would keep", "would lose") if dry_run else ("keeps", "loses")
    lines = [f"{one.segment}: {kept} {output.count(one.kept, 'event')}"]
    lines += [f"  {why}" for why in one.why]
    for first, last in one.lost:
        lines.append(f"  {lost} {plural.span(first, last)}")
    if one.quarantine:
        lines.append(f"  the damaged file: quarantine/{one.quarantine}")
    return lines

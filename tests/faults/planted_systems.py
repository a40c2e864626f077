"""Row 11 in the folders of the five systems: the names are those that their verbs open.

I1  Nobody lists the names by hand: the verbs run once while every path that Python is asked to
    open, make, rename, list or remove is noted. Temporary names are random, so that they cannot be
    taken beforehand: what stands for them is one that a killed writer left.
I2  Nothing outside is changed, made or read out, nobody's file is deleted, nothing waits, and a
    refusal is an error of the tree (the same laws as for a journal's own names).
I3  Once the plant is taken away, and what stood there is back, the system goes on, and the journal
    is whole.
I4  A link is followed only where it is the person's: a folder that the person names, a file that a
    person gives, or a state file that no journal keeps yet.
"""

import contextlib
import itertools
import os
import random
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

import journal
import journal.event
from tests.faults import systems
from tests.faults.commanding import Act, Exited, Told, give_away, run_acts
from tests.faults.planting import KEPT, MARK, Outside, plants, take_away
from tests.faults.process import Process, Say
from tests.faults.quick import settings_parsed_once
from tests.faults.row import Tier, Violation
from tests.faults.systems import SYSTEMS, System

_SAMPLE = {"quick": 0.12, "full": 1.0}
_TEMPORARY = re.compile(r"\.[0-9a-f]{16}\.journal-tmp$")
_LINKS = ("a dangling link", "a link to a file")
_CODES = {f"exit {code}" for code in range(1, 8)}
_PATHS_OF = {
    **dict.fromkeys(("open", "os.mkdir", "os.remove", "os.chmod", "os.listdir", "os.scandir"), 1),
    **dict.fromkeys(("os.rmdir", "os.truncate", "os.utime"), 1),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink"), 2),
}
"""What is noted: an event of Python's audit hooks, and how many of its arguments are paths."""


class Stage(NamedTuple):
    """A working folder before the verbs, and the verbs (see `tests.faults.systems`)."""

    system: System
    name: str
    made: Path
    acts: Mapping[str, Act]

    def __str__(self) -> str:
        return f"{self.system.name}, {self.name}"


class Place(NamedTuple):
    """One thing to be planted at one name of one stage."""

    stage: Stage
    name: str
    kind: str

    def __str__(self) -> str:
        return f"{self.stage}: {self.kind} at {self.name}"

    @property
    def is_given(self) -> bool:
        """Whether a person gives what lies there, so that a link may lead anywhere (I4)."""
        system = self.stage.system
        is_view = self.name in system.views and not self.is_kept
        return is_view or self.name in system.given or self.name in system.folders

    @property
    def is_kept(self) -> bool:
        """Whether a journal keeps what lies there."""
        return self.stage.name == "kept" and (self.stage.made / self.name).exists()


def try_systems(folder: Path, tier: Tier) -> tuple[int, str]:
    """Plant in every system; return how many commands ran, and a note. Raises `Violation`."""
    folder.mkdir(mode=0o755)
    commands = 0
    with fixed_clock(), settings_parsed_once():
        stages = list(make_stages(folder))
        places = list(_sample(list_places(stages), _SAMPLE[tier]))
        for number, place in enumerate(places):
            commands += try_place(folder / f"system-{number}", place)
    names = len({(place.stage.system.name, place.name) for place in places})
    note = f"the five systems: {len(places)} places times kinds at {names} names that they open"
    return commands, f"{note}, {commands} commands"


@contextlib.contextmanager
def fixed_clock() -> Iterator[None]:
    """Let the verbs use the same names each time: many are made of the time."""
    stopped = SimpleNamespace(time_ns=lambda: systems.BEGAN_MS * 1_000_000)
    with mock.patch.object(journal.event, "clock", stopped):
        yield


# --- what there is to plant at -------------------------------------------------------------------


def make_stages(folder: Path) -> Iterator[Stage]:
    """Make the working folders of every system, and see that its verbs run there.

    They run in this process first: without root's rights a child may not be able to import.
    """
    for system in SYSTEMS.values():
        for name, files, first, verbs in (
            ("begun", system.given, (), system.begin + system.verbs),
            ("kept", system.given, system.begin, system.verbs),
            ("taken over", {**system.given, **system.foreign}, (), system.verbs),
        ):
            made, tried = folder / f"{system.name}-{name}", folder / f"tried-{system.name}-{name}"
            made.mkdir()
            systems.put(made, files)
            _run_here(made, systems.acting(first))
            systems.copy(made, tried)
            done = _run_here(tried, systems.acting(verbs))
            if not done:
                raise Violation(f"{system.name}, {name}: no verb is done where nothing is planted")
            yield Stage(system, name, made, systems.acting(verbs))


def _run_here(work: Path, acts: Mapping[str, Act]) -> int:
    done = 0
    with contextlib.chdir(work):
        for act in acts.values():
            with contextlib.suppress(Exited):
                act(work)
                done += 1
    return done


def list_places(stages: Iterable[Stage]) -> Iterator[Place]:
    """Yield every kind of plant at every name that the verbs of a stage ask for (I1)."""
    for stage in stages:
        for name in names_of(stage):
            for kind in plants():
                if kind == "a link to a folder" and name in stage.system.folders:
                    continue  # as a person may wish
                yield Place(stage, name, kind)


def names_of(stage: Stage) -> list[str]:
    """Return the names in the working folder that the verbs of a stage ask for, sorted."""
    work = stage.made.with_name(stage.made.name + "-asked")
    systems.copy(stage.made, work)
    with Process(lambda say: _note_asked(work, stage.acts, say)) as process:
        asked = process.join()
    take_away(work)
    return _two_of_a_kind({_TEMPORARY.sub(".0123456789abcdef.journal-tmp", name) for name in asked})


def _two_of_a_kind(names: set[str]) -> list[str]:
    """Return the names sorted, two of those that differ in digits alone: the oldest checkpoints."""
    alike: dict[str, list[str]] = {}
    for name in sorted(names):
        alike.setdefault(re.sub(r"[0-9]", "0", name), []).append(name)
    return sorted(name for found in alike.values() for name in found[:2])


def _note_asked(work: Path, acts: Mapping[str, Act], say: Say) -> None:
    os.chdir(work)
    root = os.fspath(work.resolve()) + os.sep

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        for path in arguments[: _PATHS_OF.get(event, 0)]:
            if isinstance(path, str | bytes | os.PathLike):
                name = os.path.abspath(os.fsdecode(path))
                if name.startswith(root):
                    say(name.removeprefix(root))

    sys.addaudithook(note)
    for act in acts.values():
        with contextlib.suppress(Exited):
            act(work)


def _sample(places: Iterable[Place], share: float) -> Iterator[Place]:
    """Yield a share of the kinds at each name of each stage, one at least."""
    plan = random.Random(11)
    for _, group in itertools.groupby(places, lambda place: (str(place.stage), place.name)):
        kinds = list(group)
        yield from plan.sample(kinds, max(1, round(share * len(kinds))))


# --- one plant -----------------------------------------------------------------------------------


def try_place(root: Path, place: Place) -> int:
    """Plant one thing and run the verbs; return how many. Raises `Violation`."""
    root.mkdir()
    work, aside = root / "work", root / "aside"
    systems.copy(place.stage.made, work)
    outside = Outside(root / "outside")
    path = work / place.name
    if os.path.lexists(path):
        os.rename(path, aside)
    path.parent.mkdir(parents=True, exist_ok=True)
    plants()[place.kind](path, outside)
    give_away(root)
    planted = os.lstat(path)
    told = run_acts(work, place.stage.acts, str(place))
    _check_said(told, place)
    if changes := _unwanted(outside.changes(), place):
        raise Violation(f"{place}: outside of the folder {changes} (I2)")
    if place.kind == "a folder" and not any(root.rglob(KEPT)):
        raise Violation(f"{place}: somebody's file was deleted (I2)")
    if os.path.lexists(path) and os.lstat(path).st_ino == planted.st_ino:
        take_away(path)
    if os.path.lexists(aside) and not os.path.lexists(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        os.rename(aside, path)
    _check_goes_on(work, place)
    take_away(root)
    return len(told)


def _unwanted(changes: list[str], place: Place) -> list[str]:
    """Return the changes but those of the file that a person's own link leads to (I4)."""
    if not (place.name in place.stage.system.views and place.is_given and place.kind in _LINKS):
        return changes
    return [said for said in changes if not said.startswith(("new.json", "file.json"))]


def _check_said(told: Told, place: Place) -> None:
    for act, outcome, words in told:
        said = f"{place}: {act}: {outcome}: {words}"
        if "fault in journal itself" in words or (outcome != "ok" and outcome not in _CODES):
            raise Violation(f"{said} (I2)")
        if MARK in words and place.kind != "a hard link" and not place.is_given:
            raise Violation(f"{said} (I4: it was followed)")


def _check_goes_on(work: Path, place: Place) -> None:
    """Check that nothing is lost once the plant is gone (I3)."""
    system = place.stage.system
    private = work / system.private
    give_away(work)
    told = run_acts(work, systems.acting((system.check,)), f"{place}, then taken away")
    if (private / "journal.yaml").exists():
        with journal.open(private, on_drift="replace") as engine:
            engine.rebuild()
            if not (report := engine.verify()).ok:
                raise Violation(f"{place}: then {report.problems} (I3)")
    elif place.stage.name == "kept":
        raise Violation(f"{place}: then there is no journal (I3)")
    for act, outcome, words in told:
        if outcome != "ok" and place.stage.name == "kept" and place.name != system.private:
            raise Violation(f"{place}: then {act}: {outcome}: {words} (I3)")

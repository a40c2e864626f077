"""The benchmark's workload and pictures: the same every time, and readable by day and by night."""

from pathlib import Path
from xml.etree import ElementTree

from bench import pictures, table, workload
from bench.measures import Measure
from bench.systems.bare import Bare
from bench.systems.floor import Floor
from bench.systems.journal_engine import JournalEngine


def test_the_events_of_a_seed_are_the_same_every_time() -> None:
    assert list(workload.events(50)) == list(workload.events(50))
    assert list(workload.events(50)) != list(workload.events(50, seed=2))


def test_the_floor_and_the_journal_fold_to_the_reference(tmp_path: Path) -> None:
    wanted = workload.reference(300)[300]
    for system in (Floor(tmp_path / "floor"), JournalEngine(tmp_path / "journal")):
        system.fill(300)
        assert workload.digest(system.replay()[0]) == wanted


def test_time_travel_of_the_journal_and_its_floor_is_the_reference_at_each_place(
    tmp_path: Path,
) -> None:
    journal = JournalEngine(tmp_path)
    journal.fill(1500)
    places = [1, 2, 299, 700, 1499]
    wanted = workload.reference(1500, places=places)
    for system in (journal, Bare(tmp_path)):
        found = [workload.digest(state) for state, _ in system.states_at(places)]
        assert found == [wanted[place] for place in places]


def picture_of(costs: dict[str, float], *, lines: str) -> str:
    measure = Measure(
        name="m",
        title="cost <&>",
        unit="us",
        job="j",
        systems={},
        full={},
        quick={},
        lines=lines,
    )
    found: list[table.Round] = [{name: {"value": cost} for name, cost in costs.items()}]
    line = table.make_line(measure, found, busy=[False] * len(found), parameters={})
    return pictures.curves(line) if lines else pictures.bars(line)


def test_a_picture_is_svg_without_a_ground_and_with_colours_for_the_night() -> None:
    bars = picture_of({"journal": 1.0, "floor": 0.5}, lines="")
    curves = picture_of({"journal 10": 1.0, "journal 1000": 1.1, "floor 10": 0.5}, lines="tasks")
    for found in (bars, curves):
        root = ElementTree.fromstring(found)
        assert root.tag.endswith("svg")
        assert "prefers-color-scheme:dark" in found
        assert "http" not in found.replace("http://www.w3.org/2000/svg", "")
    assert curves.count("<circle") == 3


def test_a_cost_that_was_not_measured_leaves_a_picture_that_says_so() -> None:
    assert "not measured" in picture_of({}, lines="events")

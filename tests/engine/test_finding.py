"""A line is found by its seq wherever it stands, however long the lines around it are."""

from pathlib import Path

import journal
from journal.segment import Segment, list_names


def test_every_seq_is_found_among_lines_of_any_length(tmp_path: Path) -> None:
    with journal.init(tmp_path / "run", durability="os", views_every_ms=1_000_000) as engine:
        for size in (1, 5_000, 1, 60_000, 1):  # long stretches of short lines, and the reverse
            events = [("set", {"path": "/a", "value": "x" * size}) for _ in range(60)]
            engine.append_batch(events)
        last = engine.seq
    folder = tmp_path / "run" / "log"
    (name,) = list_names(folder)
    with Segment(folder / name) as segment:
        size = segment.size()
        places = [segment.start]
        for offset, line in segment.lines(0, size):
            place = segment.position_after(offset + len(line))
            assert place is not None
            places.append(place)
        assert len(places) == last + 1
        for seq in range(1, last + 1):
            assert segment.find_seq(seq, size) == places[seq]
            assert segment.find_seq(seq, size, after=places[seq // 2]) == places[seq]
        assert segment.find_seq(last + 5, size) == places[last]

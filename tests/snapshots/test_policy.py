"""When a snapshot is due: the promises of the policy hold for any growth of log and state."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from journal.config import SnapshotsConfig
from snapshots.policy import is_due

CONFIG = SnapshotsConfig(log_ratio=4.0, min_bytes=1000, keep=10)
APPENDS = st.lists(st.tuples(st.integers(1, 3000), st.integers(2, 5000)), max_size=200)


@settings(max_examples=60)
@given(APPENDS, st.sampled_from([0.5, 1.0, 4.0, 10.0]), st.sampled_from([0, 1000, 9000]))
def test_all_but_the_newest_take_a_fixed_part_of_the_log_and_replay_is_bounded(
    appends: list[tuple[int, int]], ratio: float, min_bytes: int
) -> None:
    config = SnapshotsConfig(log_ratio=ratio, min_bytes=min_bytes)
    log_bytes = since = 0
    sizes: list[int] = []
    for append_bytes, state_bytes in appends:
        log_bytes += append_bytes
        since += append_bytes
        newest_bytes = sizes[-1] if sizes else 0
        if is_due(since, newest_bytes, config):
            sizes.append(state_bytes)
            since = 0
        else:
            assert since < max(ratio * newest_bytes, min_bytes, 1)
        assert sum(sizes[:-1]) <= log_bytes / ratio
        assert len(sizes) <= log_bytes / max(min_bytes, 1)


@pytest.mark.parametrize(
    ("since", "newest", "due"),
    [
        (0, 0, False),
        (999, 0, False),
        (1000, 0, True),
        (1000, 250, True),
        (1000, 251, False),
        (1003, 251, False),
        (1004, 251, True),
        (4 * 55_000 - 1, 55_000, False),
        (4 * 55_000, 55_000, True),
    ],
)
def test_both_limits_have_to_be_reached(since: int, newest: int, due: bool) -> None:
    assert is_due(since, newest, CONFIG) is due


def test_nothing_is_due_before_the_log_has_grown_even_without_a_minimum() -> None:
    config = SnapshotsConfig(min_bytes=0)
    assert not is_due(0, 0, config)
    assert is_due(1, 0, config)

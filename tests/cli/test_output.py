"""What is printed: escapes, sizes, colour, the bar."""

import errno
import io
import itertools
import sys

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.cli import output
from journal.cli.progress import Bar
from journal.codec import crc_suffix, encode_body
from journal.event import Event

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@given(st.text())
def test_plain_text_has_no_control_characters_and_leaves_the_rest(text: str) -> None:
    shown = output.plain(text)
    assert shown.isprintable()
    if text.isprintable():
        assert shown == text


@given(JSON, st.integers(0, 200))
def test_shortened_values_are_printable_and_not_wider_than_asked(
    value: object, columns: int
) -> None:
    shown = output.shorten(value, columns)
    if len(orjson.dumps(value).decode()) <= columns:
        assert shown == output.plain(orjson.dumps(value).decode())
    assert "\n" not in shown
    assert shown.isprintable()


@given(JSON)
def test_a_stored_line_is_printed_as_it_was_encoded(value: object) -> None:
    event = Event(seq=7, time="2026-01-01T00:00:00.000Z", type="t", data=value, id="k", cause=3)
    event = Event(**{**{f: getattr(event, f) for f in event.__struct_fields__}, "crc": "0123abcd"})
    line = encode_body(event, orjson.dumps(value)) + crc_suffix(0x0123ABCD)
    assert output.stored_line(event) == line


@pytest.mark.parametrize(
    ("size_bytes", "words"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (1_234_567, "1.2 MB"),
        (5 * 10**9, "5.0 GB"),
        (7 * 10**15, "7000.0 TB"),
    ],
)
def test_sizes_are_said_in_words(size_bytes: int, words: str) -> None:
    assert output.size(size_bytes) == words


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert output.takes_colour(Terminal())
    assert not output.takes_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "")
    assert output.takes_colour(Terminal())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not output.takes_colour(Terminal())
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert not output.takes_colour(Terminal())


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second pass with every look at the clock."""
    seconds = itertools.count()
    monkeypatch.setattr("time.monotonic", lambda: float(next(seconds)))


@pytest.mark.usefixtures("slow_clock")
def test_the_bar_is_drawn_on_a_terminal_and_wiped_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    with Bar("verifying") as bar:
        bar(500, 1000)
        bar(7, None)
        assert "verifying [###############...............]  50%  500 of 1,000" in shown.getvalue()
        assert shown.getvalue().endswith("verifying 7")
    assert shown.getvalue().endswith("\r\x1b[K")


@pytest.mark.usefixtures("slow_clock")
@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_the_bar_is_not_drawn_elsewhere(monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stderr", shown := Terminal() if term == "dumb" else io.StringIO())
    with Bar("verifying") as bar:
        bar(500, 1000)
    assert shown.getvalue() == ""


def test_quick_work_draws_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", shown := Terminal())
    with Bar("verifying") as bar:
        for done in range(1000):
            bar(done, 1000)
    assert shown.getvalue() == ""


class Full(io.RawIOBase):
    """Standard output on a full disk."""

    def writable(self) -> bool:
        return True

    def write(self, _: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_under_stdout_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(Full(), write_through=True)  # type: ignore[type-var]
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(OSError, match="No space left on device") as raised:
        output.put("x")
    assert raised.value.filename == "standard output"

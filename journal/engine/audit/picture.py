"""The pictures of an account, as SVG that takes its colours from the page.

    timeline   events over time, by type; what happened to the journal above, gaps hatched
    lanes      who was at work when
    rhythm     events by weekday and hour, UTC

I1  Nothing is fetched; every word from the log is escaped; the words for a part of a picture are
    its title, so that they show on hovering and are read aloud.
"""

import math
import unicodedata
from collections.abc import Iterable

from journal import plural
from journal.engine.audit.collecting import to_ms
from journal.engine.audit.escaping import text
from journal.engine.audit.report import Audit, Gap, Happening, Named
from journal.engine.audit.wording import WEEKDAYS, duration, when, who
from journal.event import (
    ADOPTED,
    CHECKPOINT,
    CREATED,
    FORKED,
    LOST,
    RECOVERED,
    REPAIRED,
    RESTORED,
    TAKEN_OVER,
    format_time,
    is_engine_type,
)

COLOURS = 7
"""Series with a colour of their own; the rest share one."""

LANES = 14

_WIDTH = 1000
_LEFT, _RIGHT = 52, 10
_PLOT = _WIDTH - _LEFT - _RIGHT
_TOP, _HEIGHT, _AXIS = 34, 190, 30
_LANE = 24
_LANE_LEFT = 170
_NAME_COLUMNS = 18
_LANE_RIGHT = 70
_CELL = 22
_LEVELS = 5
_WIDE_GAP = 0.03
_LABELLED_GAP = 70

_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000
_STEPS_MS = (
    *(1, 10, 100, 500, _SECOND, 5 * _SECOND, 15 * _SECOND, 30 * _SECOND),
    *(_MINUTE, 5 * _MINUTE, 15 * _MINUTE, 30 * _MINUTE, _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY, 91 * _DAY, 182 * _DAY, 365 * _DAY),
)
_MOST_TICKS = 8

_MARKS = {
    RECOVERED: "bad",
    LOST: "bad",
    REPAIRED: "bad",
    ADOPTED: "note",
    RESTORED: "note",
    TAKEN_OVER: "note",
    FORKED: "note",
    CREATED: "good",
    CHECKPOINT: "small",
}


class Scale:
    """From times to places on the timeline."""

    def __init__(self, account: Audit, *, left: float = _LEFT, width: float = _PLOT) -> None:
        """Span the whole history."""
        self.start_ms = to_ms(account.first_time)
        self.span_ms = max(to_ms(account.last_time) - self.start_ms, 0) + 1
        self.bins = account.bins
        self._left, self._width = left, width

    def x(self, time_ms: int) -> float:
        """Return where a time is."""
        return self._left + self._width * (time_ms - self.start_ms) / self.span_ms

    def bin_x(self, number: int) -> float:
        """Return where a part begins."""
        return self._left + self._width * number / self.bins

    def bin_time(self, number: int) -> str:
        """Return when a part begins."""
        return when(format_time(self.start_ms + self.span_ms * number // self.bins))

    def ticks(self) -> list[tuple[float, str]]:
        """Return a few round times, where they are and how they are written."""
        step = next((s for s in _STEPS_MS if self.span_ms / s <= _MOST_TICKS), None)
        step = step or math.ceil(self.span_ms / _MOST_TICKS / _STEPS_MS[-1]) * _STEPS_MS[-1]
        first = -(-self.start_ms // step) * step
        times = range(first, self.start_ms + self.span_ms, step)
        return [(self.x(time), _label(time, step)) for time in times]


def _label(time_ms: int, step_ms: int) -> str:
    shown = format_time(time_ms)
    if step_ms >= _DAY:
        return shown[:10]
    if step_ms >= _MINUTE:
        return shown[11:16] if time_ms % _DAY else shown[5:10]
    return shown[11:19] if step_ms >= _SECOND else shown[14:23]


# --- timeline ------------------------------------------------------------------------------------


def series(account: Audit) -> list[tuple[str, list[int]]]:
    """Return (name, events by part) of the types with a colour of their own, then of the rest."""
    own = [one for one in account.types if not is_engine_type(one.name)][:COLOURS]
    names = {one.name for one in own}
    rest = [one for one in account.types if one.name not in names]
    found = [(one.name, one.bins) for one in own]
    if rest:
        found.append(("", [sum(parts) for parts in zip(*(one.bins for one in rest), strict=True)]))
    return found


def timeline(account: Audit) -> str:
    """Return the picture of events over time, stacked by type."""
    scale, stack = Scale(account), series(account)
    totals = [sum(parts) for parts in zip(*(bins for _, bins in stack), strict=True)]
    most = max(totals, default=0)
    top, step = _round_top(most)
    bottom = _TOP + _HEIGHT

    def y(count: float) -> float:
        return bottom - _HEIGHT * count / top

    parts = [_hatch(gap, scale) for gap in account.gaps]
    for value in range(0, top + 1, step):
        parts.append(
            f'<path class="grid" d="M{_LEFT} {y(value):.1f}h{_PLOT}"/>'
            f'<text class="tick end" x="{_LEFT - 8}" y="{y(value) + 4:.1f}">{value:,}</text>'
        )
    below = [0] * account.bins
    for number, (name, bins) in enumerate(stack):
        boxes = [
            _box(scale, at, y(below[at] + count), y(below[at]))
            for at, count in enumerate(bins)
            if count
        ]
        style = f"c{number + 1}" if name else "c0"
        parts.append(f'<path class="{style}" d="{"".join(boxes)}"/>')
        below = [before + count for before, count in zip(below, bins, strict=True)]
    parts += _axis(scale, bottom)
    parts += [_mark(one, scale) for one in account.happenings]
    parts += _hover(scale, stack, totals)
    return _svg(bottom + _AXIS, "Events over time", parts)


def _round_top(most: int) -> tuple[int, int]:
    """Return the end of an axis that has room for `most`, and the step between its lines."""
    rough = max(most, 1) / 4
    power = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    step = next(int(power * m) for m in (1, 2, 5, 10) if power * m >= rough)
    return -(-max(most, 1) // step) * step, step


def _box(scale: Scale, at: int, top: float, bottom: float) -> str:
    left, right = scale.bin_x(at), scale.bin_x(at + 1)
    inset = min(0.6, (right - left) / 6)
    width = right - left - 2 * inset
    height = max(bottom - top, 0.4)
    return f"M{left + inset:.1f} {bottom - height:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z"


def _axis(scale: Scale, bottom: float) -> list[str]:
    parts = [f'<path class="axis" d="M{_LEFT} {bottom}h{_PLOT}"/>']
    for x, label in scale.ticks():
        parts.append(
            f'<path class="axis" d="M{x:.1f} {bottom}v5"/>'
            f'<text class="tick mid" x="{x:.1f}" y="{bottom + 19}">{label}</text>'
        )
    return parts


def _hatch(gap: Gap, scale: Scale) -> str:
    if gap.length_ms < scale.span_ms * _WIDE_GAP:
        return ""
    left, right = scale.x(to_ms(gap.from_time)), scale.x(to_ms(gap.to_time))
    words = f"{duration(gap.length_ms)} without an event, after event {gap.after_seq:,}"
    label = ""
    if right - left > _LABELLED_GAP:
        middle = (left + right) / 2
        label = f'<text class="tick mid" x="{middle:.1f}" y="{_TOP + 14}">'
        label += f"{duration(gap.length_ms)}</text>"
    return (
        f'<g><title>{text(words)}</title><rect class="gap" x="{left:.1f}" y="{_TOP}" '
        f'width="{right - left:.1f}" height="{_HEIGHT}"/>{label}</g>'
    )


def _mark(one: Happening, scale: Scale) -> str:
    style = _MARKS.get(one.type, "small")
    x = scale.x(to_ms(one.time))
    words = f"event {one.seq:,}, {when(one.time)}: {one.words or one.type}"
    shape = (
        f'<circle class="mark {style}" cx="{x:.1f}" cy="16" r="2.5"/>'
        if style == "small"
        else f'<path class="stem {style}" d="M{x:.1f} 22V{_TOP + _HEIGHT}"/>'
        f'<path class="mark {style}" d="M{x:.1f} 10l6 6l-6 6l-6-6z"/>'
    )
    return f"<g><title>{text(words)}</title>{shape}</g>"


def _hover(scale: Scale, stack: list[tuple[str, list[int]]], totals: list[int]) -> list[str]:
    parts: list[str] = []
    for at, total in enumerate(totals):
        if not total:
            continue
        lines = [f"from {scale.bin_time(at)}", plural.count(total, "event")]
        lines += [f"{name or 'others'}: {bins[at]:,}" for name, bins in stack if bins[at]]
        left, right = scale.bin_x(at), scale.bin_x(at + 1)
        parts.append(
            f'<rect class="over" x="{left:.1f}" y="{_TOP}" width="{right - left:.1f}" '
            f'height="{_HEIGHT}"><title>{chr(10).join(map(text, lines))}</title></rect>'
        )
    return parts


# --- lanes ---------------------------------------------------------------------------------------


def lanes(account: Audit) -> str:
    """Return the picture of who was at work when: a lane for each of the busiest actors."""
    actors = account.actors[:LANES]
    width = _WIDTH - _LANE_LEFT - _LANE_RIGHT
    scale = Scale(account, left=_LANE_LEFT, width=width)
    parts: list[str] = []
    levels: list[list[str]] = [[] for _ in range(_LEVELS)]
    for row, actor in enumerate(actors):
        top = row * _LANE + 4
        parts.append(_lane(actor, top, width))
        most = max(actor.bins)
        for at, count in enumerate(actor.bins):
            if count:
                level = _level(count, most)
                levels[level].append(_box(scale, at, top + 2, top + _LANE - 6))
    for level, boxes in enumerate(levels):
        if boxes:
            parts.append(f'<path class="heat h{level + 1}" d="{"".join(boxes)}"/>')
    return _svg(len(actors) * _LANE + 8, "Who was at work when", parts)


def _lane(actor: Named, top: float, width: float) -> str:
    name = who(actor.name)
    span = f"{when(actor.first_time)} to {when(actor.last_time)}"
    words = f"{name}: {plural.count(actor.count, 'event')}, {span}"
    middle = top + _LANE / 2 + 2
    return (
        f"<g><title>{text(words)}</title>"
        f'<rect class="lane" x="{_LANE_LEFT}" y="{top + 2}" width="{width}" height="{_LANE - 8}"/>'
        f'<text class="name end" x="{_LANE_LEFT - 12}" y="{middle}">{text(_shorten(name))}</text>'
        f'<text class="tick" x="{_LANE_LEFT + width + 12}" y="{middle}">{actor.count:,}</text></g>'
    )


def _shorten(name: str) -> str:
    """Return a name that fits beside its lane, by its two ends; a wide character counts as two."""
    columns = [1 + (unicodedata.east_asian_width(character) in "WF") for character in name]
    if sum(columns) <= _NAME_COLUMNS:
        return name
    start, end, room = 0, len(name), _NAME_COLUMNS - 1
    while room > 0:
        # By turns, so that names which begin alike are told apart by their ends.
        if start <= len(name) - end:
            room -= columns[start]
            start += 1
        else:
            end -= 1
            room -= columns[end]
    return f"{name[:start]}…{name[end:]}"


def _level(count: int, most: int) -> int:
    """Return a shade, 0 … `_LEVELS` - 1; by the root, so that few are still seen beside many."""
    return min(int(math.sqrt(count / most) * _LEVELS), _LEVELS - 1)


# --- rhythm --------------------------------------------------------------------------------------


def rhythm(account: Audit) -> str:
    """Return the picture of events by weekday and hour."""
    most = max((count for day in account.rhythm for count in day), default=0)
    left, step = 52, (_WIDTH - 52 - 10) / 24
    parts: list[str] = []
    for row, (weekday, hours) in enumerate(zip(WEEKDAYS, account.rhythm, strict=True)):
        top = row * (_CELL + 3) + 4
        parts.append(f'<text class="tick end" x="{left - 8}" y="{top + 15}">{weekday}</text>')
        for hour, count in enumerate(hours):
            style = f"heat h{_level(count, most) + 1}" if count else "lane"
            words = f"{weekday} {hour:02d}:00 to {hour + 1:02d}:00: {plural.count(count, 'event')}"
            parts.append(
                f'<rect class="{style}" x="{left + hour * step + 1:.1f}" y="{top}" rx="3" '
                f'width="{step - 3:.1f}" height="{_CELL}"><title>{words}</title></rect>'
            )
    bottom = 7 * (_CELL + 3) + 18
    for hour in range(0, 24, 3):
        x = left + hour * step + 1
        parts.append(f'<text class="tick" x="{x:.1f}" y="{bottom}">{hour:02d}:00</text>')
    return _svg(bottom + 8, "Events by weekday and hour, UTC", parts)


def _svg(height: float, title: str, parts: Iterable[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{text(title)}">'
        f"{''.join(parts)}</svg>"
    )

"""The events of a YAML parser made into one JSON value, without recursion.

Invariants
  I1  The value is a tree: what an alias brings in is built anew from the recorded events of its
      anchor, so no part stands in two places, and its scalars are read as their new place asks.
  I2  Before an alias is expanded, its weight (ten for each node and one for each character) is
      added up; a document whose aliases weigh over `ALIASED` is refused.
  I3  A key is text as written; an empty one, an alias to a container and a container are none.

What the parser itself has to refuse, and tabs, are in `yaml_text`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from yaml import (
    AliasEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from projections.foreign.json_scanner import in_range
from projections.foreign.reading import Mark
from projections.foreign.source import MEND, Source
from projections.patch import MAX_DEPTH, Json
from projections.patch.pointer import escape

ALIASED = 1_000_000
"""What all that aliases bring into one document may weigh: ten a node, one a character."""

_CONSTANTS: dict[str, Json] = {"": None, "null": None, "~": None, "true": True, "false": False}
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_LOOKS_TYPED = frozenset({"True", "TRUE", "False", "FALSE", "Null", "NULL"})
_SURROGATE = re.compile("[\ud800-\udfff]")
_COMMENT = re.compile(r" +#")
_TIGHT = re.compile(r"\s*:[,?\[\]{}]")
_GLUED = re.compile(r"[|>][-+0-9]*#")
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+(?:#[^\n]*\n\s*)*)*")
_TAG = "tag:yaml.org,2002:"
_TEXT_TAG = f"{_TAG}str"
_TYPED_TAGS: dict[str, tuple[type, ...]] = {
    f"{_TAG}null": (type(None),),
    f"{_TAG}bool": (bool,),
    f"{_TAG}int": (int,),
    f"{_TAG}float": (int, float),
}


@dataclass(slots=True)
class _Open:
    """A mapping or sequence whose end has not come yet."""

    container: dict[str, Json] | list[Json]
    pointer: str | None  # None where positions are not kept
    flow: bool  # between brackets or braces
    anchor: str = ""
    recorded: int = 0  # where in the record it begins, and what the record weighed there
    weight: int = 0
    key: str | None = None
    merging: bool = False
    places: dict[str, int] = field(default_factory=dict[str, int])  # of the keys so far
    merged: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])


class Builder:
    """Takes the events of one document; `result` is its value, `marks` and `texts` its places."""

    def __init__(
        self,
        source: Source,
        *,
        lenient: bool,
        text_at: Callable[[Sequence[str]], bool] | None,
        positions: bool,
        lint: bool,
    ) -> None:
        self.marks: dict[str, Mark] = {}
        self.texts: dict[str, str] = {}
        self.spans: list[tuple[int, int, str]] = []  # of scalars, where the text has tabs
        self.reached = 0
        self._source = source
        self._lenient = lenient
        self._text_at = text_at
        self._positions = positions
        self._lint = lint
        self._tabs = "\t" in source.text
        self._open: list[_Open] = []
        self._value: list[Json] = []  # empty until there is one
        self._record: list[Event] = []
        self._weight = 0
        self._anchored = 0  # open containers that have an anchor
        self._anchors: dict[str, tuple[list[Event], int] | None] = {}
        self._aliased = 0
        self._replaying = False
        self._alias_at = 0  # where the alias stands that is being expanded

    def result(self) -> Json:
        """Return the value; raises `Corrupt` where there was no document."""
        if not self._value:
            raise self._source.fail(
                "no YAML document, nothing but comments", 0, advice="Put back an older copy."
            )
        return self._value[0]

    def take(self, event: Event) -> None:
        """Take the next event; raises `Corrupt` for what is not a JSON value of ours."""
        if not self._replaying:
            self.reached = _end(event)
        if isinstance(event, AliasEvent):
            self._alias(event)  # records what it brings in, not itself
            return
        if isinstance(event, ScalarEvent):
            self._note(event, 10 + len(event.value))
            self._scalar(event)
        elif isinstance(event, (MappingStartEvent, SequenceStartEvent)):
            self._start(event)
        elif isinstance(event, (MappingEndEvent, SequenceEndEvent)):
            self._end(event)

    def _note(self, event: Event, weight: int) -> None:
        """Record an event inside an anchored container, to be built again by its aliases."""
        if self._anchored:
            self._record.append(event)
            self._weight += weight

    def _scalar(self, event: ScalarEvent) -> None:
        if not self._replaying:
            if event.anchor:
                self._anchors[event.anchor] = ([event], 10 + len(event.value))
            if self._tabs:
                self.spans.append((self._text_start(event), _end(event), event.style or ""))
            self._check_spelling(event)
        if _SURROGATE.search(event.value):
            self._fail("half of a pair (a lone surrogate)", event)
        top = self._open[-1] if self._open else None
        if top is not None and top.key is None and isinstance(top.container, dict):
            self._key(event, top)
            return
        pointer = self._pointer(event)
        value = self._typed(event)
        if pointer is not None and not isinstance(value, str):
            self.texts[pointer] = event.value
        self._put(value, event)

    def _text_start(self, event: ScalarEvent) -> int:
        """Return where a scalar begins, behind its anchor and tag."""
        start = _start(event)
        if event.anchor or event.tag:
            properties = _PROPERTIES.match(self._source.text, start)
            start = min(properties.end() if properties else start, _end(event))
        return start

    def _check_spelling(self, event: ScalarEvent) -> None:
        """Refuse what the parser in C and the one in Python read differently."""
        text = self._source.text
        if event.style in ("|", ">") and _GLUED.match(text, self._text_start(event)):
            self._fail("a comment without a space before it", event, "Put a space before the #.")
        if not event.style and self._open and self._open[-1].flow:
            if "?" in event.value:
                self._fail('"?" in unquoted text between brackets', event, "Quote the text.")
            if _TIGHT.match(text, _end(event)):
                self._fail("no space after the colon", event, "Put a space after it.")

    def _key(self, event: ScalarEvent, top: _Open) -> None:
        if event.tag not in (None, _TEXT_TAG):
            self._fail_tag(event.tag or "", event)
        plain = not event.style and event.tag is None
        if plain and not event.value:
            self._fail("a key is missing", event)
        at = _start(event)
        top.key = event.value
        top.merging = plain and event.value == "<<"
        # A merge and a member that is spelled the same way are two things.
        name = "\x00<<" if top.merging else event.value
        if name in top.places:
            line = self._source.mark(top.places[name]).line
            why = f'the key "{event.value}" twice in one mapping, first at line {line}'
            if not self._lenient or top.merging:
                self._fail(why, event, "Keep one of the two; nothing was changed.")
            self._source.warn(f"{why}; the last counts", at)
        top.places[name] = at
        if top.pointer is not None and not top.merging:
            self.marks[f"{top.pointer}/{escape(event.value)}"] = self._source.mark(at)

    def _start(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        if len(self._open) == MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH} levels", event, "Flatten the value.")
        top = self._open[-1] if self._open else None
        mapping = isinstance(event, MappingStartEvent)
        if top is not None and top.key is None and isinstance(top.container, dict):
            self._fail("a key is text, not a mapping or sequence", event, "Quote it.")
        if event.tag not in (None, f"{_TAG}map" if mapping else f"{_TAG}seq"):
            self._fail_tag(event.tag or "", event)
        opened = _Open({} if mapping else [], self._pointer(event), bool(event.flow_style))
        if event.anchor and not self._replaying:
            opened.anchor = event.anchor
            self._anchors[event.anchor] = None
            self._anchored += 1
        opened.recorded, opened.weight = len(self._record), self._weight
        self._note(event, 10)
        self._open.append(opened)

    def _end(self, event: Event) -> None:
        self._note(event, 0)
        closed = self._open.pop()
        if closed.anchor:
            weight = self._weight - closed.weight
            self._anchors[closed.anchor] = (self._record[closed.recorded :], weight)
            self._anchored -= 1
            if not self._anchored:
                self._record = []
        value = closed.container
        if closed.merged and isinstance(value, dict):
            for other in closed.merged:
                for key, member in other.items():
                    value.setdefault(key, member)
        self._put(value, event)

    def _alias(self, event: AliasEvent) -> None:
        name = event.anchor or ""
        if name not in self._anchors:
            self._fail(f"the alias *{name} has no anchor before it", event, "Quote the text.")
        target = self._anchors[name]
        if target is None:
            self._fail(f"the alias *{name} stands inside what it names", event)
        events, weight = target
        self._aliased += weight
        if self._aliased > ALIASED:
            self._fail(
                f"the aliases up to here would bring in more than {ALIASED} nodes and characters",
                event,
                "Write the parts out, or leave them out.",
            )
        self._replaying, self._alias_at = True, _start(event)
        for recorded in events:
            self.take(recorded)
        self._replaying = False

    def _put(self, value: Json, event: Event) -> None:
        """Put a finished value where it belongs."""
        if not self._open:
            self._value.append(value)
            return
        top = self._open[-1]
        if isinstance(top.container, list):
            top.container.append(value)
            return
        if top.merging:
            parts = value if isinstance(value, list) else [value]
            for part in parts:
                if not isinstance(part, dict):
                    self._fail('"<<" merges a mapping or a list of them', event, "Quote the key.")
                top.merged.append(part)
        elif top.key is not None:
            top.container[top.key] = value
        top.key = None

    def _pointer(self, event: Event) -> str | None:
        """Return the pointer of the value that begins, where positions are kept, and mark it."""
        if not self._positions:
            return None
        if not self._open:
            pointer = ""
        else:
            top = self._open[-1]
            if top.pointer is None or top.merging:
                return None
            if isinstance(top.container, dict):
                return f"{top.pointer}/{escape(top.key or '')}"
            pointer = f"{top.pointer}/{len(top.container)}"
        self.marks[pointer] = self._source.mark(_start(event))
        return pointer

    def _typed(self, event: ScalarEvent) -> Json:
        text, tag = event.value, event.tag
        if (tag is None and event.style) or tag == _TEXT_TAG:
            return text
        value = self._plain(event)
        if tag is not None:
            if tag not in _TYPED_TAGS:
                self._fail_tag(tag, event)
            if type(value) not in _TYPED_TAGS[tag]:
                self._fail(f"{_short(tag)} does not fit the text", event)
            return float(value) if tag == f"{_TAG}float" and isinstance(value, int) else value
        if value is not None and not isinstance(value, str) and self._text_at is not None:
            tokens = [
                opened.key or ""
                if isinstance(opened.container, dict)
                else str(len(opened.container))
                for opened in self._open
                if not opened.merging
            ]
            if self._text_at(tokens):
                value = text
        if self._lint and isinstance(value, str) and not self._replaying:
            self._lint_text(event)
        return value

    def _plain(self, event: ScalarEvent) -> Json:
        """Read an unquoted scalar by the JSON schema."""
        text = event.value
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if not _NUMBER.fullmatch(text):
            return text
        number: int | float | None
        if _INTEGER.fullmatch(text):
            number = int(text) if len(text) <= 20 else None
        else:
            number = float(text)
        if number is None or not in_range(number):
            shown = text if len(text) <= 40 else f"{text[:20]}… ({len(text)} characters)"
            self._fail(f"the number {shown} is too large", event, "Quote it to keep it as text.")
        return number

    def _lint_text(self, event: ScalarEvent) -> None:
        at = _end(event)
        if _COMMENT.match(self._source.text, at):
            self._source.warn(f'the text "{event.value[-30:]}" ends where a comment begins', at)
        if event.value in _LOOKS_TYPED:
            self._source.warn(f"{event.value} is text; write {event.value.lower()}", at)

    def _fail_tag(self, tag: str, event: Event) -> NoReturn:
        self._fail(f"the tag {_short(tag)} is not read", event, "Remove it, or quote the text.")

    def _fail(self, why: str, event: Event, advice: str = MEND) -> NoReturn:
        at = self._alias_at if self._replaying else _start(event)
        raise self._source.fail(why, at, column=True, advice=advice)


def _start(event: Event) -> int:
    return event.start_mark.index if event.start_mark else 0


def _end(event: Event) -> int:
    return event.end_mark.index if event.end_mark else 0


def _short(tag: str) -> str:
    return tag.replace(_TAG, "!!", 1)

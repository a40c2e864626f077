"""YAML from outside, read as the JSON value it plainly says, strictly.

    tasks:
      - {id: task-001, due: 2025-01-02, version: 1.10, done: no}   # due and done are text

Invariants
  I1  Unquoted scalars follow the JSON schema of YAML 1.2 (section 10.2): null, true, false and
      numbers in JSON's grammar are typed, everything else is text as written: dates, `yes`, `no`,
      `0x1F`, `1_000`, `.5`. Beyond it `~` and an empty value are null. Keys are always text.
  I2  One document. Equal keys, aliases inside what they name, aliases that blow up (`ALIASED`),
      keys that are not scalars, foreign tags, and values that are no JSON value of ours are
      refused with line and column. `<<` merges, and own keys win over merged ones.
  I3  The verdict is the same with the C parser and without it. Where the two disagree, the
      stricter is right: a tab is separation nowhere, only part of quoted and block text and of
      comments; BOMs, control characters, U+0085, U+2028, U+2029 and a lone CR stand nowhere.
  I4  Every refusal is a `Corrupt`, whatever the parser raised.

Only the events of PyYAML's parsers are used; its constructors, resolvers and their classes are not.
"""

import os
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from journal.errors import Corrupt
from projections.foreign.reading import Reading
from projections.foreign.source import Source

if TYPE_CHECKING:
    from yaml import Event

    from projections.foreign.yaml_builder import Builder

_ODD = re.compile(
    r"[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
    r"|\r(?!\n)"
)
_CONFLICT = re.compile(r"^<{7} .*?^={7}\r?$.*?^>{7} ", re.MULTILINE | re.DOTALL)
_FILLED = re.compile(r"\n([ \t]*)[^ \t\r\n]")
_VERSION = re.compile(r"%YAML +1\.[12] *(?: #.*)?$")

_QUOTE = (
    'Text that holds ": " or " #", or starts with one of [ ] { } * & ! % @ ` | > \' " - ? : # , '
    "must stand in quotes."
)


def read_yaml(
    data: bytes,
    *,
    path: str | os.PathLike[str],
    lenient: bool = False,
    require_mapping: bool = False,
    text_at: Callable[[Sequence[str]], bool] | None = None,
    positions: bool = False,
    lint: bool = False,
) -> Reading:
    """Read the one YAML document that fills the whole file.

    `lenient` lets the last of two equal keys count, with a warning. `require_mapping` refuses a
    document that is not a mapping. `text_at` is asked about each unquoted number and boolean, with
    the tokens of its pointer; where it says yes the scalar stays text as written (`1.10`).
    `positions` fills `marks` and `texts` of the result. `lint` warns where unquoted text is
    followed by a comment, and of `True`, `Null` and the like, which are text.
    Raises `Corrupt` with line and column of the first fault.
    """
    # PyYAML takes longer to load than most files take to read.
    from projections.foreign.yaml_builder import Builder

    source = Source(data, path)
    _check_text(source)
    builder = Builder(source, lenient=lenient, text_at=text_at, positions=positions, lint=lint)
    _parse(source, builder)
    value = builder.result()
    if require_mapping and not isinstance(value, dict):
        raise source.fail("the document is not a mapping", 0, advice='Write "key: value" lines.')
    return Reading(value, tuple(source.warnings), builder.marks, builder.texts)


class EventParser(Protocol):
    """What is used of the parsers of PyYAML."""

    def check_event(self) -> bool:
        """Say whether there are more events."""
        ...

    def get_event(self) -> "Event":
        """Return the next event."""
        ...


def parser_class() -> Callable[[str], EventParser]:
    """Return the parser to use: the one in C, or the same in Python where that is missing."""
    import yaml

    return cast(Callable[[str], EventParser], getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _check_text(source: Source) -> None:
    """Refuse beforehand what one of the parsers refuses and the other does not."""
    odd = _ODD.search(source.text)
    if odd:
        code = ord(odd.group())
        raise source.fail(
            f"the character U+{code:04X} cannot stand in YAML as it is",
            odd.start(),
            column=True,
            advice=f'Remove it, or write it in double quotes as "\\u{code:04x}".',
        )
    conflict = _CONFLICT.search(source.text)
    if conflict:  # at the start of a line it might pass as text
        raise source.fail("git conflict markers", conflict.start())
    at = 0
    while source.text[at : at + 1] in ("%", "#", " ", "\r", "\n"):  # before the document
        stop = source.text.find("\n", at)
        line = source.text[at : stop if stop >= 0 else None].rstrip()
        if line.startswith("%") and not _VERSION.fullmatch(line):
            raise source.fail(
                f'the directive "{line[:40]}" is not read',
                at,
                column=True,
                advice="Remove it; only %YAML 1.1 and %YAML 1.2 may stand here.",
            )
        if stop < 0 or line.lstrip()[:1] not in ("%", "#", ""):
            break
        at = stop + 1


def _parse(source: Source, builder: "Builder") -> None:
    """Feed the parser's events to the builder; translate whatever the parser raises."""
    import yaml

    documents: list[int] = []
    fault: Corrupt | None = None
    try:
        parser = parser_class()(source.text)
        while parser.check_event():
            event = parser.get_event()
            if isinstance(event, yaml.DocumentStartEvent):
                documents.append(event.start_mark.index if event.start_mark else 0)
            if len(documents) < 2:
                builder.take(event)
    except yaml.YAMLError as error:
        fault = _fault(source, builder, error)
    except (ValueError, ArithmeticError, LookupError, TypeError, RecursionError) as error:
        # The parser in Python has a few ways to fail that are not errors of YAML, such as chr().
        fault = source.fail(f"not YAML: {error}", builder.reached, column=True, advice=_QUOTE)
    if len(documents) > 1:
        line = source.mark(documents[1]).line
        count = f"at least {len(documents)}" if fault else len(documents)
        raise source.fail(
            f"{count} documents, expected 1 (the second starts at line {line})",
            documents[1],
            advice="Keep one of them, or make each a file of its own.",
        )
    if fault or (fault := stray_tab(source, builder.spans, len(source.text))):
        raise fault


def _fault(source: Source, builder: "Builder", error: Exception) -> Corrupt:
    """Return the error for what a parser raised."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    at: int = min(mark.index, len(source.text)) if mark else builder.reached
    # A tab is often why the parser stumbled, and then the better reason.
    tab = stray_tab(source, builder.spans, builder.reached)
    if tab is None and source.text[at : at + 1] == "\t":
        tab = _tab(source, at)
    if tab is not None:
        return tab
    problem = getattr(error, "problem", None) or str(error)
    context = getattr(error, "context", None)
    why = f"not YAML: {problem}" + (f" ({context})" if context else "")
    return source.fail(why, at, column=True, advice=_QUOTE)


def stray_tab(source: Source, spans: Sequence[tuple[int, int, str]], upto: int) -> Corrupt | None:
    """Return the error for the first tab that is neither in quotes, block text nor a comment.

    `spans` are start, end and style of the scalars, in order. Each look at a tab passes over what
    it has cleared, so that a text full of tabs takes no longer than one without.
    """
    text = source.text
    starts = [start for start, _, _ in spans]
    at = text.find("\t", 0, upto)
    while at >= 0:
        before = bisect_right(starts, at) - 1
        start, end, style = spans[before] if before >= 0 else (0, 0, "")
        cleared = end
        if at >= end or style in ("|", ">"):
            line = text.rfind("\n", 0, at) + 1
            cleared = text.find("\n", at)
            if at >= end:
                stray = "#" not in text[max(line, end) : at]
            else:
                stray = _indents(text, start, line, at)
        else:
            stray = not style
        if stray:
            return _tab(source, at)
        at = text.find("\t", cleared, upto) if cleared >= 0 else -1
    return None


def _indents(text: str, start: int, line: int, at: int) -> bool:
    """Say whether the first tab of a line of the block text from `start` is not its text yet."""
    if line <= start:  # the line of the indicator
        return "#" not in text[start:at]
    if text[line:at].strip(" "):
        return False
    # Where text is indented is settled by its first line that is not blank.
    first = _FILLED.search(text, start)
    return first is None or first.start(1) >= line or at - line < len(first.group(1))


def _tab(source: Source, at: int) -> Corrupt:
    line = source.text.rfind("\n", 0, at) + 1
    indents = not source.text[line:at].strip()
    return source.fail(
        "tab used for indentation" if indents else "tab outside of quoted text",
        at,
        column=True,
        advice="Use spaces." if indents else "Use spaces, or quote the text that holds the tab.",
    )

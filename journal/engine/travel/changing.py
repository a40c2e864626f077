"""What is changed in a history that might have been: events dropped, edited, inserted.

    --drop 7     --edit 7={"type": "set", "data": {…}}     --insert 7={"type": "set", "data": {…}}

I1  Seqs are those of the source, whatever is dropped or inserted before them. Of several events
    inserted at one place the first told comes first.
I2  The journal's first event stays; so do the engine's own notes, which mean nothing to the state.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from journal.engine.encoding import encode
from journal.errors import Corrupt, UsageError
from journal.event import CARRIES_STATE, Draft, Event, is_engine_type


class Drop(msgspec.Struct, frozen=True):
    """Leave the event out."""

    seq: int


class Edit(msgspec.Struct, frozen=True):
    """Put another event in the place of this one; what it does not give stays as it was."""

    seq: int
    draft: Draft


class Insert(msgspec.Struct, frozen=True):
    """Put an event right after this one; 0: before the first that is not the journal's own."""

    seq: int
    draft: Draft


Change = Drop | Edit | Insert


class Told:
    """All the changes of one fork."""

    def __init__(self, changes: Iterable[Change], at: int) -> None:
        """Take them; raises `UsageError` for one that cannot be told of the events 1 to `at`."""
        self._drops: set[int] = set()
        self._edits: dict[int, Draft] = {}
        self._inserts: dict[int, list[Draft]] = {}
        for change in changes:
            _check(change, at)
            if isinstance(change, Insert):
                self._inserts.setdefault(change.seq, []).append(change.draft)
                continue
            if change.seq in self._drops or change.seq in self._edits:
                raise UsageError(f"event {change.seq} is changed twice", key="changes")
            if isinstance(change, Drop):
                self._drops.add(change.seq)
            else:
                self._edits[change.seq] = change.draft

    def __bool__(self) -> bool:
        return bool(self._drops or self._edits or self._inserts)

    @property
    def first(self) -> int:
        """The first seq that is not as it was."""
        return min([*self._drops, *self._edits, *(seq + 1 for seq in self._inserts)])

    def insert_seqs(self, *, upto: int) -> list[int]:
        """Return the seqs up to and with `upto` after which something is inserted."""
        return sorted(seq for seq in self._inserts if seq <= upto)

    def inserted(self, seq: int) -> Iterator[Draft]:
        """Yield what is inserted after event `seq`."""
        yield from self._inserts.get(seq, ())

    def replace(self, event: Event, draft: Draft | None) -> Draft | None:
        """Return what stands in the place of an event: `draft` as it was, another one, or none."""
        if event.seq in self._drops:
            return None
        edit = self._edits.get(event.seq)
        if edit is None:
            return draft
        return msgspec.structs.replace(
            edit,
            actor=edit.actor or event.actor,
            id=edit.id or event.id,
            cause=edit.cause or event.cause,
            time=edit.time or event.time,
        )


def _check(change: Change, at: int) -> None:
    first = 0 if isinstance(change, Insert) else 1
    if not first <= change.seq <= at:
        raise UsageError(f"event {change.seq} is not among the events {first} to {at}", key="seq")
    if change.seq == 1 and not isinstance(change, Insert):
        raise UsageError("event 1 is the journal's own first line", key="seq")
    if not isinstance(change, Drop):
        kind = change.draft.type
        if is_engine_type(kind) and kind not in CARRIES_STATE:
            raise UsageError(f"{kind!r} is one of the engine's own events", key="type")
        if kind in CARRIES_STATE and not _carries(change.draft.data):
            raise UsageError(
                f"{kind!r} without the state that it brings",
                key="data",
                advice='Its data has "state", or a "patch" as RFC 6902 has it.',
            )


def _carries(data: Any) -> bool:
    return isinstance(data, dict) and ("state" in data or isinstance(data.get("patch"), list))


# --- as the command line gives it ----------------------------------------------------------------

_EVENT_ADVICE = 'An event has "type" and "data", and may have "actor", "id", "cause" and "time".'


class _Given(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    data: Any
    actor: str = ""
    id: str = ""
    cause: int = 0
    time: str = ""


def read_drop(text: str) -> Drop:
    """Read `SEQ`; raises `UsageError`."""
    return Drop(_read_seq("drop", text.strip(), "SEQ"))


def read_edit(text: str) -> Edit:
    """Read `SEQ=JSON`; raises `UsageError`."""
    return Edit(*_read("edit", text))


def read_insert(text: str) -> Insert:
    """Read `SEQ=JSON`; raises `UsageError`."""
    return Insert(*_read("insert", text))


def _read(kind: str, text: str) -> tuple[int, Draft]:
    from projections.foreign import read_json

    number, _, body = text.partition("=")
    if not body.strip():
        raise UsageError(
            f"--{kind} {text!r}: SEQ=JSON is wanted, the event behind the seq",
            key=kind,
            advice=_example(kind, number.strip()),
        )
    seq = _read_seq(kind, number.strip(), "SEQ=JSON")
    try:
        given = read_json(body.encode(), path=f"--{kind} {seq}").value
        found = msgspec.convert(given, _Given)
    except Corrupt as error:
        raise UsageError(error.message, key=kind, advice=_EVENT_ADVICE) from error
    except msgspec.ValidationError as error:
        why = str(error).replace("`$.", "`").replace(" - at `$`", "")
        raise UsageError(f"--{kind} {seq}: {why}", key=kind, advice=_EVENT_ADVICE) from error
    draft = Draft(**msgspec.structs.asdict(found))
    if not is_engine_type(draft.type):
        encode(draft)
    return seq, draft


def _is_seq(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 20


def _read_seq(kind: str, text: str, wanted: str) -> int:
    if not _is_seq(text):
        advice = "" if wanted == "SEQ" else _example(kind, "")
        raise UsageError(f"--{kind} {text!r}: {wanted} is wanted", key=kind, advice=advice)
    return int(text)


def _example(kind: str, seq: str) -> str:
    seq = seq if _is_seq(seq) else "57"
    event = '{"type": "set", "data": {"path": "/phase", "value": "plan"}}'
    return f"Such as: --{kind} '{seq}={event}'"

"""What to do about the problems that `verify` found: a sentence for each kind of them.

I1  Where history itself is not the one that was noted, that alone is said: a repair or a rebuild
    would write over the evidence.
I2  To adopt is advised only where it would not be refused, and neither it nor a rebuild where the
    log is damaged: that comes first, and both are refused until then.
"""

import os
import re
import shlex
from collections.abc import Sequence

from journal.engine.reports import Problem
from journal.engine.verifying.anchors import NOTED_WRONGLY

_COMMAND = re.compile(r"`(journal (?:rebuild|adopt|repair|head)[^`]*)`")
LOG_KINDS = frozenset({"damage", "gap", "order", "append", "witness", "corrupt", "repair"})
"""Kinds of problems that stop every writer until a repair."""
SEALED_KINDS = frozenset({"anchor", "chain"})
"""Kinds of problems that show another history (I1)."""
_REWRITTEN = (
    "History was rewritten. Keep this folder as it is, and put log/ back from a copy in another "
    "one; no repair and no rebuild here: they would write over the evidence."
)
_ANCHOR = (
    "The note and this log cannot both be right: either the anchor was noted wrongly (its seq and "
    "its digest are not of one event of this journal), or history was rewritten. Look at the note "
    f"first. Where it holds: {_REWRITTEN}"
)
_MISNOTED = (
    "Correct the note: an anchor is seq and digest of one event, as `journal head --at SEQ` prints "
    "them."
)
_SHORTER = (
    "This log is shorter than what was noted: events at its end are gone, or it is an older copy. "
    "Keep this folder as it is, and put log/ back from a copy that reaches the anchor in another "
    "one; no repair and no rebuild here: they would write over the evidence. Of another journal's "
    "anchor it says nothing."
)
UNLIKE = "is not the state of event {}, which the witness says it is"
"""How a problem says that the witness has bytes of a view that this log does not give."""
OTHER_LOG = (
    "A view that this journal wrote does not come from this log: the log was rewritten, or is "
    "another's or an older copy. Keep this folder as it is, and put the right log/ back in another "
    "one"
)
"""The first thing to do about a view that the log does not give."""
_OTHER_LOG = f"{OTHER_LOG}; where this log is the right one, `journal rebuild` makes views fit it."
_REPAIRED = (
    "A repair gave the segment other bytes: compare with the old file in quarantine/, and note a "
    "new `journal head`."
)
_DAMAGED = (
    "Put the log back from a copy, or see `journal repair --dry-run`: it says what can be saved "
    "and what a repair would do."
)
_BY_KIND = {
    **dict.fromkeys(("damage", "gap", "order", "append", "witness"), _DAMAGED),
    "repair": "Run `journal repair` again: it completes the repair from the old files.",
    "time": "Times that go back are left as they are; by seq everything is found.",
    "projection": "Mend the code of the projection, or its name in journal.yaml, or run where its "
    "module can be imported: in the folder that it lies in, or with that on PYTHONPATH.",
    "folder": "Move away what stands in the place of a folder, or of the witness; the next writer "
    "makes it.",
    "snapshot": "`journal rebuild` makes the checkpoints again from the log.",
    "view": "`journal rebuild` puts views back as the log has them; other bytes that stood there "
    "are kept in quarantine/.",
}
_ADOPTABLE = (
    "`journal adopt` records what somebody else changed in a view; `journal rebuild` puts views "
    "back as the log has them."
)


def is_unlike(problem: Problem) -> bool:
    """Say whether a problem is that of a view which the log does not give; see `UNLIKE`."""
    return problem.kind == "view" and UNLIKE.partition("{")[0] in problem.message


def remedies(
    problems: Sequence[Problem], *, adoptable: bool = True, at: str | os.PathLike[str] = "."
) -> list[str]:
    """Return what to do, as `_find` has it; the commands name the journal, to be pasted.

    `at` is its folder as it was named.
    """
    found = _find(problems, adoptable=adoptable)
    if os.fspath(at) == ".":
        return found
    named = shlex.quote(os.fspath(at))
    return [_COMMAND.sub(lambda match: f"`{match[1]} -d {named}`", text) for text in found]


def _find(problems: Sequence[Problem], *, adoptable: bool) -> list[str]:
    """Return what to do, in the order of the problems, each once; empty where there are none.

    `adoptable`: there is a view that somebody changed, and `adopt` would take it (I2).
    """
    kinds = [problem.kind for problem in problems]
    known = _BY_KIND | ({"view": _ADOPTABLE} if adoptable else {})
    if LOG_KINDS & set(kinds):
        known = {kind: text for kind, text in known.items() if kind not in ("view", "snapshot")}
    if not LOG_KINDS & set(kinds) and any(is_unlike(problem) for problem in problems):
        known |= {"view": _OTHER_LOG, "snapshot": _OTHER_LOG}
    found = list(dict.fromkeys(known[kind] for kind in kinds if kind in known))
    if not SEALED_KINDS & set(kinds):
        return found
    noted = [p for p in problems if p.kind == "anchor"]
    if "chain" not in kinds and all(NOTED_WRONGLY in p.message for p in noted):
        return [_MISNOTED, *found]
    if noted and "chain" not in kinds and all(p.offset is None for p in noted):
        return [_SHORTER]
    explained = all("repaired this segment" in p.message for p in problems if p.kind == "anchor")
    if "chain" in kinds:
        return [_REWRITTEN]
    return [_REPAIRED, *found] if explained else [_ANCHOR]

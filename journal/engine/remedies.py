"""What to do about the problems that `verify` found: a sentence for each kind of them.

I1  Where history itself is not the one that was noted, that alone is said: a repair or a rebuild
    would write over the evidence.
I2  To adopt is advised only where it would not be refused.
"""

from collections.abc import Sequence

from journal.engine.reports import Problem

_REWRITTEN = (
    "History was rewritten. Keep this folder as it is, and put log/ back from a copy in another "
    "one; no repair and no rebuild here: they would write over the evidence."
)
_SHORTER = (
    "This log is shorter than what was noted: events at its end are gone, or it is an older copy. "
    "Keep this folder as it is, and put log/ back from a copy that reaches the anchor in another "
    "one; no repair and no rebuild here: they would write over the evidence. Of another journal's "
    "anchor it says nothing."
)
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
    "projection": "Mend the code of the projection; the log is as it was.",
    "snapshot": "`journal rebuild` makes the checkpoints again from the log.",
    "view": "`journal rebuild` puts views back as the log has them; other bytes that stood there "
    "are kept in quarantine/.",
}
_ADOPTABLE = (
    "`journal adopt` records what somebody else changed in a view; `journal rebuild` puts views "
    "back as the log has them."
)


def remedies(problems: Sequence[Problem], *, adoptable: bool = True) -> list[str]:
    """Return what to do, in the order of the problems, each once; empty where there are none.

    `adoptable`: there is a view that somebody changed, and `adopt` would take it (I2).
    """
    kinds = [problem.kind for problem in problems]
    known = _BY_KIND | ({"view": _ADOPTABLE} if adoptable else {})
    found = list(dict.fromkeys(known[kind] for kind in kinds if kind in known))
    if not {"anchor", "chain"} & set(kinds):
        return found
    noted = [p for p in problems if p.kind == "anchor"]
    if noted and "chain" not in kinds and all(p.offset is None for p in noted):
        return [_SHORTER]
    explained = all("repaired this segment" in p.message for p in problems if p.kind == "anchor")
    return [_REPAIRED, *found] if explained and "chain" not in kinds else [_REWRITTEN]

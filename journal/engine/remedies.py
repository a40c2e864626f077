"""What to do about the problems that `verify` found: a sentence for each kind of them.

I1  Where history itself is not the one that was noted, that alone is said: a repair or a rebuild
    would write over the evidence.
"""

from collections.abc import Sequence

from journal.engine.reports import Problem

_REWRITTEN = (
    "History was rewritten. Keep this folder as it is, and put log/ back from a copy in another "
    "one; no repair and no rebuild here: they would write over the evidence."
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
    "time": "Times that go back are left as they are; by seq everything is found.",
    "projection": "Mend the code of the projection; the log is as it was.",
    "snapshot": "`journal rebuild` makes the checkpoints again from the log.",
    "view": "`journal adopt` records what somebody else changed in a view; `journal rebuild` puts "
    "views back as the log has them.",
}


def remedies(problems: Sequence[Problem]) -> list[str]:
    """Return what to do, in the order of the problems, each once; empty where there are none."""
    kinds = [problem.kind for problem in problems]
    found = list(dict.fromkeys(_BY_KIND[kind] for kind in kinds if kind in _BY_KIND))
    if not {"anchor", "chain"} & set(kinds):
        return found
    explained = all("repaired this segment" in p.message for p in problems if p.kind == "anchor")
    return [_REPAIRED, *found] if explained and "chain" not in kinds else [_REWRITTEN]

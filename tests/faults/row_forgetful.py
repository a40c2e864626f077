"""Row 7: the power is cut under a writer on a file system that forgets what was not synced.

The laws are those of `tests.faults.cutting`. Half of the cuts tear what was under way; under some
writers a sync fails, once, and they open the journal again and go on. Two controls have to break
the laws: a writer whose syncs do nothing, and one that syncs again where a sync failed.
"""

import random

from tests.faults.cutting import be_caught, cut_often
from tests.faults.device import CannotRun
from tests.faults.forgetful import forgetful
from tests.faults.row import Outcome, Row, Tier
from tests.faults.tree import memory_folder

CUTS = {"quick": 100, "full": 2000}
CONTROL_CUTS = 20


def run(tier: Tier) -> Outcome:
    """Cut the power so many times, half of them where names need a sync of their folder."""
    count, notes = 0, []
    for ordered in (True, False):
        kind = "names in order" if ordered else "names by folder"
        try:
            with (
                memory_folder() as folder,
                forgetful(folder / "mounted", ordered=ordered) as device,
            ):
                found = cut_often(device, CUTS[tier] // 2, random.Random(7))
                caught = be_caught(device, CONTROL_CUTS)
                retried = be_caught(device, CONTROL_CUTS, "retried")
        except CannotRun as error:
            return Outcome(0, (error.skipping("all of it"),))
        count += found.cuts
        notes.append(f"{kind}: {found}; {caught}; {retried}")
    return Outcome(count, notes=tuple(notes))


ROW = Row(7, "power cuts on a forgetful file system (FUSE), torn ones and failed syncs", run)

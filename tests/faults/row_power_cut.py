"""Row 6: the power is cut under a writer on real file systems, by the kernel itself.

The laws are those of `tests.faults.cutting`. A control, a writer whose syncs do nothing, has to
break them.
"""

import random

from tests.faults.cutting import be_caught, cut_often
from tests.faults.device import CannotRun, power_cut
from tests.faults.row import Outcome, Row, Skipped, Tier
from tests.faults.tree import memory_folder

CUTS = {"quick": 50, "full": 500}
CONTROL_CUTS = 20
KINDS = ("ext4", "xfs")


def run(tier: Tier) -> Outcome:
    """Cut the power so many times on each kind of file system that can be had here."""
    count, notes = 0, []
    skipped: list[Skipped] = []
    for kind in KINDS:
        try:
            with memory_folder() as folder, power_cut(kind, folder) as device:
                found = cut_often(device, CUTS[tier], random.Random(6))
                caught = be_caught(device, CONTROL_CUTS)
        except CannotRun as error:
            skipped.append(error.skipping(kind))
            continue
        count += found.cuts
        notes.append(f"{kind}: {found}; {caught}")
    return Outcome(count, tuple(skipped), tuple(notes))


ROW = Row(6, "real power cuts on loop devices (ext4, XFS)", run)

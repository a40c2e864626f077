"""Snapshots and views against the states of a replay: that is how it shows that they are a cache.

I1  A snapshot or a view of other code, or one that is behind as it may be, is no problem; it is
    noted.
I2  Bytes that are the replay's are not decoded: what is equal to JSON is JSON.
"""

from pathlib import Path
from typing import Any

import orjson

from journal import plural
from journal.engine.core import Core
from journal.engine.drift import is_adoptable
from journal.engine.evidence import Evidence, Seen
from journal.engine.remedies import UNLIKE
from journal.engine.states import Fold, Live
from journal.engine.verifying.findings import Findings
from journal.engine.viewing import Viewer
from journal.errors import Corrupt, JournalError
from projections import view as views
from projections.patch import diff, equal
from projections.view_kinds import LinesView
from snapshots import snapshot


class Matcher:
    """The snapshots and views of one journal, each compared when the replay comes by."""

    def __init__(self, core: Core, viewer: Viewer, evidence: Evidence, findings: Findings) -> None:
        """Compare nothing yet."""
        self._core = core
        self._viewer = viewer
        self._evidence = evidence
        self._findings = findings
        self._snapshots = [(entry.seq, entry.name) for entry in evidence.snapshots]
        self._behind = self._views_behind()

    def stops(self, after: int, upto: int) -> list[int]:
        """Return the seqs in (`after`, `upto`] at which the replay has to stop; `upto` is one."""
        stops = {seq for seq in self._behind if after < seq < upto}
        for seq, _ in self._snapshots:  # in order; those that were compared are gone
            if seq >= upto:
                break
            stops.add(seq)
        return [*sorted(seq for seq in stops if seq > after), upto]

    def compare(self, fold: Fold, live: Live) -> None:
        """Compare what is said to stand where the replay stands."""
        self._check_view_behind(fold, live)
        while self._snapshots and self._snapshots[0][0] <= live.seq:
            seq, name = self._snapshots.pop(0)
            if fold.in_hole or seq < live.seq:  # The replay stops at each seq that is not lost.
                self._findings.note(f"{name} was not compared: events before it are lost")
            else:
                self._check_snapshot(seq, name, live)

    def end(self, live: Live) -> None:
        """Report the snapshots that the replay never came to."""
        beyond = [(seq, name) for seq, name in self._snapshots if seq > live.seq]
        if beyond:
            seq, name = beyond[-1]
            self._findings.add(
                "gap",
                f"{name} was taken when event {seq} was on disk, and the log ends at event "
                f"{live.seq}: {plural.are(live.seq + 1, seq)} missing at the end",
                seq=live.seq + 1,
            )
        if self._core.without_code is None:
            for _, name in self._snapshots[: len(self._snapshots) - len(beyond)]:
                self._findings.note(f"{name} was not compared: the log is damaged before it")

    def check_views(self, live: Live) -> None:
        """Compare every view with the newest state."""
        documents = self._viewer.render(live.state)
        for seen in self._evidence.views:
            if seen.problem:
                self._findings.add("view", seen.problem)
            elif isinstance(seen.view, LinesView):
                self._check_lines_view(seen, seen.view, live.seq)
            elif seen.data == documents[seen.view.name]:
                continue
            elif seen.voucher is not None and seen.voucher.seq < live.seq:
                behind = live.seq - seen.voucher.seq
                self._findings.note(
                    f"{seen.file} is {plural.count(behind, 'event')} behind, as it may be"
                )
            elif self._is_vouched(seen, live.seq):
                self._report_unlike(seen, live.seq)
            else:
                self._findings.add(
                    "view",
                    self._describe_view(
                        seen.file, seen.data, live.state, known=seen.record is not None
                    ),
                )

    def _check_snapshot(self, seq: int, name: str, live: Live) -> None:
        """Compare a snapshot of this revision with the state of the replay at its seq."""
        state_bytes = orjson.dumps(live.state)
        try:
            found = snapshot.read(self._core.store.folder / name, known=state_bytes)
        except FileNotFoundError:
            return  # Another process has just removed it, as it may.
        except (Corrupt, OSError) as error:
            why = error.why if isinstance(error, Corrupt) else error.strerror or str(error)
            self._findings.add("snapshot", f"{name}: {why}", seq=seq)
            return
        projection = self._core.projection
        if (found.projection, found.revision) != (projection.name, projection.revision):
            self._findings.note(f"{name} was made by other code and is not used")
        elif seq != live.seq or (
            found.state_bytes != state_bytes and not equal(found.state(), live.state)
        ):
            self._findings.add(
                "snapshot", f"{name}: its state is not the one of the replay", seq=seq
            )

    def _views_behind(self) -> dict[int, list[Seen]]:
        """Return the views that the witness vouches for by the seq that it vouches for."""
        found: dict[int, list[Seen]] = {}
        for seen in self._evidence.views:
            voucher = seen.voucher
            if voucher is None or not voucher.seq or isinstance(seen.view, LinesView):
                continue
            if voucher.revision and voucher.revision == self._core.projection.revision:
                found.setdefault(voucher.seq, []).append(seen)
        return found

    def _check_view_behind(self, fold: Fold, live: Live) -> None:
        """Compare a view that is vouched for with the replay where it is said to stand."""
        for seen in self._behind.pop(live.seq, []):
            if fold.in_hole or live.seq == self._evidence.history.tail.seq:
                continue  # The newest state is compared at the end.
            if seen.data != self._viewer.render(live.state)[seen.view.name]:
                self._report_unlike(seen, live.seq)

    def _is_vouched(self, seen: Seen, seq: int) -> bool:
        voucher, revision = seen.voucher, self._core.projection.revision
        return voucher is not None and (voucher.seq, voucher.revision) == (seq, revision or None)

    def _report_unlike(self, seen: Seen, seq: int) -> None:
        """Report bytes of ours that the log does not give: it is not the log that made them."""
        self._findings.add("view", f"{seen.file}: it {UNLIKE.format(seq)}", seq=seq)

    def _check_lines_view(self, seen: Seen, view: LinesView, seq: int) -> None:
        """Compare a view of lines with the fold's lines, in whatever order they stand."""
        file, record = seen.file, seen.record
        if record is not None and any(
            voucher.revision != self._core.projection.revision for voucher in record.vouchers
        ):
            self._findings.note(f"{file} has lines that other code wrote")
            return
        due = self._viewer.fold_lines(view, 0, seq)
        sifted = views.sift(view, seen.data, due, ended=False)
        shown = seq if record is None or record.after is None else record.after.seq
        lost = sum(due_seq <= shown for due_seq, _ in sifted.missing)
        if lost:
            how = "`journal rebuild` writes them again"
            self._findings.add(
                "view", f"{file} lacks {plural.count(lost, 'line')} of the log; {how}"
            )
        if sifted.bad and shown > seq:
            # Whole lines of events that the log has lost look like nobody's: they are not damaged.
            self._findings.add(
                "view", f"{file} shows event {shown}, and the log ends at event {seq}"
            )
        elif sifted.bad:
            self._findings.add(
                "view", f"{file} has {plural.count(len(sifted.bad), 'damaged line')}"
            )
        if len(sifted.missing) > lost:
            self._findings.note(f"{file} is behind, as it may be")
        if sifted.foreign:
            lines = plural.count(len(sifted.foreign), "line")
            self._findings.note(f"{file} has {lines} of somebody else's")

    def _describe_view(self, name: str, data: bytes, state: Any, *, known: bool) -> str:
        """Say how a view differs; what nobody ever vouched for (not `known`) is not adopted."""
        from projections.foreign import read_json

        reader = self._core.projection.read_view
        try:
            value = reader(data, Path(name)) if reader else read_json(data, path=name).value
            changes = diff(state, value)
        except JournalError as error:
            return f"{name} differs from the log: {error.message}"
        if not changes:
            return f"{name} has the log's data in other bytes"
        first = changes[0]
        found = self._findings
        if known:
            found.adoptable = found.adoptable or is_adoptable(self._core, state, value)
        return f"{name} differs from the log: {first['op']} at {first['path'] or 'the root'!r}" + (
            f", and {len(changes) - 1} more" if len(changes) > 1 else ""
        )

"""Adding to the log: bringing its end in order after a crash, appending, rotating.

I1  Bytes are added under the append lock only, by one write at the tail; what came before is
    never written again, but for the same bytes (`recover`) and a torn end that is cut.
I2  Syncs run outside the append lock, through `journal.log.group_commit`.
I3  After a failed sync, or a write that could not be taken back, nothing more is appended.
I4  Rotation: sync N, take its write permission away, make N+1 whole under a temporary name, sync,
    rename, sync the folder. A crash in between leaves a closed segment without a successor; the
    next writer does it again. No segment is ever empty or without its first line.

The caller holds the append lock in every call but `sync`.
"""

import functools
import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from journal import codec, durable, keys, plural, recovery
from journal.errors import Corrupt
from journal.event import FORMAT, RECOVERED, ROTATED, Clock, Event, format_time, now_ms
from journal.log import lines
from journal.log.group_commit import GroupCommit
from journal.log.history import History, changed, list_segments, locate
from journal.log.lines import Encoded, Prepared
from journal.log.reader import Reader
from journal.recovery import PUT_BACK_ADVICE
from journal.segment import BLOCK_BYTES, BadBlock, Block, Position, Segment, name_of
from journal.witness import Synced

_STEP_BYTES = 1 << 20


class Writer(Reader):
    """The log of one engine that writes. `recover` comes first."""

    def __init__(
        self,
        folder: Path,
        *,
        quarantine: Path,
        clock: Clock = now_ms,
        segment_bytes: int = 64 << 20,
        believed_id: str = "",
    ) -> None:
        """Open the last segment; torn bytes will be saved in `quarantine`."""
        super().__init__(folder, write=True, believed_id=believed_id)
        self._quarantine = quarantine
        self._clock = clock
        self._segment_bytes = segment_bytes
        self._keys = keys.Keys(folder)
        self._commit = GroupCommit(folder, self._sync_written)
        self._hashed = ("", hashlib.sha256(), 0)
        self._unhashed = 0
        self._written_now = (-1, "")
        try:
            self._looked = self.last.stat()
        except BaseException:
            super().close()
            raise

    def close(self) -> None:
        """Close the descriptor, once no sync of another thread uses it; safe to call again."""
        self._commit.idle(super().close)

    # --- opening ---------------------------------------------------------------------------------

    def recover(self, synced: Synced | None, *, snapshot_seq: int = 0) -> list[Encoded]:
        """Bring the end of the log in order and onto the disk; return what is to be recorded.

        `synced` is what the witness names, `snapshot_seq` the newest snapshot's seq: both were on
        disk. Raises `Corrupt`, with nothing changed, where acknowledged events may be damaged or
        gone.
        """
        self._look_again()
        self._check_chain()
        durable.sync_folder(self.folder)  # Who rotated may have been killed before that.
        base, verdict = self._judge(synced, snapshot_seq)
        for name in self.history.names[:-1]:
            self._close_segment(name)
        notes = [self._cut(verdict)] if verdict.torn_bytes else []
        self._stand_at(verdict.end)
        if durable.is_closed(self.last.stat()):
            durable.sync(self.last.fd)
        elif base.offset < self.tail.offset:
            self._rewrite(base.offset)
        self._note_synced()
        if durable.is_closed(self.last.stat()):
            self.rotate()
        return notes

    def _look_again(self) -> None:
        """Stand in the newest segment as it is under the lock: others may have rotated since."""
        names = list_segments(self.folder)
        self.header = self._read_header(self.folder / names[-1], alone=len(names) == 1)
        last = self._open(names[-1])
        self.last.close()
        self.last = last
        self.history = History(self.folder, names, last.start)

    def _stand_at(self, place: Position) -> None:
        self.history = History(self.folder, self.history.names, place)

    def _note_synced(self) -> None:
        self._commit.note(Synced(self.tail.seq, self.last.name, self.tail.offset))

    def _check_chain(self) -> None:
        """Check that each segment starts where the one before it ends."""
        names = self.history.names
        for name, following in itertools.pairwise(names):
            with Segment(self.folder / name) as segment:
                end = segment.position_after(segment.size())
                next_seq = int(following[:20])
                if end is None or end.seq + 1 != next_seq:
                    found = locate(segment, segment.size())
                    raise found or _gap(segment, end, next_seq)

    def _close_segment(self, name: str) -> None:
        path = self.folder / name
        if not durable.is_closed(os.stat(path, follow_symlinks=False)):
            with Segment(path) as segment:
                durable.close_file(segment.fd)

    def _judge(self, synced: Synced | None, snapshot_seq: int) -> tuple[Position, recovery.Verdict]:
        """Decide about the last segment; return also the place up to which it is on disk.

        The witness's seq decides, its offset is only where to look. A small segment is checked
        whole; so is one in which damage was met, to name its first bad line.
        """
        size = self.last.size()
        start = base = self.last.start
        synced_seq = max(snapshot_seq, 0 if synced is None else synced.seq)
        if synced is not None and synced.segment == self.last.name and synced.offset <= size:
            place = self.last.position_after(synced.offset)
            base = place if place is not None and place.seq == synced.seq else start
        if size > _STEP_BYTES and base.offset:
            try:
                return base, recovery.judge(self.last, base, size, synced_seq=synced_seq)
            except Corrupt:
                pass  # Judged again from the start, which raises with the first bad line.
        return base, recovery.judge(self.last, start, size, synced_seq=synced_seq)

    def _cut(self, verdict: recovery.Verdict) -> Encoded:
        stamp = format_time(self._clock()).translate({ord(mark): None for mark in "-:."})
        name = f"{stamp}-{self.last.name}-{verdict.end.offset}.torn"
        saved = recovery.save(self.last, verdict, self._quarantine, name=name)
        self._cut_at(verdict.end.offset)
        data = {
            "segment": self.last.name,
            "offset": verdict.end.offset,
            "bytes": verdict.torn_bytes,
            "why": verdict.why,
            "quarantine": saved.name,
        }
        return Encoded(RECOVERED, codec.encode_value(data))

    def _rewrite(self, start: int) -> None:
        """Write the bytes from `start` to the tail again, as they are, and sync them.

        A page that an earlier failed sync left clean in memory but not on disk becomes dirty
        again by this; a sync alone would prove nothing. A crash here is safe: the bytes are equal.
        """
        for offset in range(start, self.tail.offset, _STEP_BYTES):
            end = min(offset + _STEP_BYTES, self.tail.offset)
            durable.write_at(self.last.fd, self.last.read(offset, end), offset)
        durable.sync(self.last.fd)

    # --- appending -------------------------------------------------------------------------------

    def is_current(self) -> bool:
        """Say by one `stat` that nobody appended, rotated or exchanged anything since."""
        last = self.last
        self._looked = found = os.lstat(last.path_text)
        return (
            found.st_size == self.history.tail.offset
            and found.st_ino == last.inode
            and found.st_dev == last.device
            and found.st_mode & 0o222 != 0
            and self._commit.dead is None
        )

    def take_next(self) -> Block | None:
        """Return what others appended since, right after `is_current` said so; the tail follows.

        This is the usual case, done with one read: whole appends in the same segment, no more
        than a block, nothing lost or torn. For all else it is None, and `catch_up` is to be used.
        """
        found, last, before = self._looked, self.last, self.history.tail
        size = found.st_size
        if (
            not 0 < size - before.offset <= BLOCK_BYTES
            or found.st_ino != last.inode
            or found.st_dev != last.device
            or durable.is_closed(found)
            or self._commit.dead is not None
        ):
            return None
        data = last.read(before.offset, size)
        block = last.whole_block(data, before)
        if block is not None:
            self._take(block)
        return block

    def catch_up(self, notes: list[Encoded]) -> Iterator[Block]:
        """Yield what other writers appended since; the tail follows.

        One `stat` where there is nothing. What a killed writer left is judged as at opening;
        `notes` gets what is to be recorded.
        """
        self._commit.refuse_if_dead()
        self._mend_place()
        while True:
            found = os.stat(self.last.path, follow_symlinks=False)
            self._refuse_if_replaced(found)
            if found.st_size != self.tail.offset:
                yield from self._take_in(found.st_size, notes)
            if not durable.is_closed(found):
                return
            following = name_of(self.tail.seq + 1)
            if not _is_there(self.folder / following):
                yield self.rotate()
                return
            self._commit.alone(functools.partial(self._follow, following))

    def _follow(self, name: str) -> None:
        """Go on in the segment that another writer started."""
        durable.sync_folder(self.folder)  # Who made it may have been killed before that.
        self._stand_in((*self.history.names, name))

    def _take_in(self, size: int, notes: list[Encoded]) -> Iterator[Block]:
        end = self.last.complete_end(self.tail.offset, size)
        try:
            yield from self._walk(end)
        except BadBlock:
            end = -1
        if end != size:
            synced_seq = self._commit.synced.seq
            verdict = recovery.judge(self.last, self.tail, size, synced_seq=synced_seq)
            yield from self._walk(verdict.end.offset)
            if verdict.torn_bytes:
                notes.append(self._cut(verdict))

    def _take(self, block: Block) -> None:
        super()._take(block)
        self._keys.add(block.data, self.last.name)

    def _refuse_if_replaced(self, found: os.stat_result) -> None:
        ours = self.last.stat()
        same = (ours.st_ino, ours.st_dev) == (found.st_ino, found.st_dev)
        if not same or found.st_size < self.tail.offset:
            error = changed(self.last.path, min(found.st_size, self.tail.offset))
            self._commit.die(error)
            raise error

    @property
    def is_full(self) -> bool:
        """Say whether the last segment takes no further append."""
        return self.history.tail.offset >= self._segment_bytes

    def prepare(self, drafts: Sequence[Encoded]) -> Prepared:
        """Make the lines of one append for the tail as it is; writes nothing.

        Raises `UsageError` where the append is too large.
        """
        before, known = self.history.tail, self._commit.synced.seq
        unsynced = max(0, before.seq - max(known, self._proven))
        now_ms = self._clock()
        if self._written_now[0] != now_ms:
            self._written_now = (now_ms, format_time(now_ms))
        now = self._written_now[1]
        if len(drafts) == 1:
            return lines.prepare(drafts[0], before, now, unsynced)
        return lines.prepare_all(drafts, before, now, unsynced)

    def write(self, prepared: Prepared) -> None:
        """Write prepared lines at the tail by one write.

        Raises `OSError` with the file ending where it ended before; if it does not, with the log
        dead (I3).
        """
        history = self.history
        before = history.tail
        assert prepared.before is before or prepared.before == before
        self._unhashed += len(prepared.lines)
        if self._unhashed >= _STEP_BYTES:
            # What stood there before this engine came is caught up with by and by: whoever appends
            # a line and goes would else read a whole segment for it.
            self._hash_to(before.offset, at_most_bytes=4 * _STEP_BYTES)
            self._unhashed = 0
        try:
            durable.write_at(self.last.fd, prepared.lines, before.offset)
        except BaseException:
            self._take_back()
            raise
        # The keys first: after Ctrl-C in between, the lines are caught up with as somebody's, and
        # their keys taken in once more; a tail without its keys would let an id pass twice.
        if self._keys.are_known:
            self._keys.add(prepared.lines, self.last.name)
        self.history = History(history.folder, history.names, prepared.after)

    def _take_back(self) -> None:
        """Cut off what a failed write left behind the tail; the log is dead if that fails (I3)."""
        try:
            self._cut_at(self.tail.offset)
        except OSError as error:
            self._commit.die(error)
            raise

    def _cut_at(self, offset: int) -> None:
        """Cut the segment; no sync may be in flight, which could be told of the failure of this."""
        self._commit.alone(functools.partial(durable.truncate, self.last.fd, offset))

    def rotate(self) -> Block:
        """Close the last segment and start the next one (I4); return its first line."""
        return self._commit.alone(self._rotate)

    def _rotate(self) -> Block:
        old = self.last
        self._hash_to(self.tail.offset)
        durable.sync(old.fd)
        self._note_synced()
        try:
            keys.write(old)
        except BadBlock as error:
            size = self.tail.offset
            raise locate(old, size) or changed(old.path, error.at.offset) from None
        durable.close_file(old.fd)
        return self._start_next(old)

    def _start_next(self, old: Segment) -> Block:
        seq = self.tail.seq + 1
        previous = {"segment": old.name, "sha256": self._hashed[1].hexdigest()}
        data = {"format": FORMAT, "id": self.journal_id, "previous": previous}
        time = max(self.tail.time, format_time(self._clock()))
        event = Event(seq=seq, time=time, type=ROTATED, data=data)
        line, crc = codec.seal([codec.encode_body(event, codec.encode_value(data))], 0)
        path = self.folder / name_of(seq)
        if path.exists():
            raise changed(path, 0)
        durable.write_file(path, bytes(line), synced=True)
        last = Segment(path, write=True)
        before = Position(0, 0, seq - 1, self.tail.time)
        after = Position(len(line), crc, seq, time)
        self.header = event
        # In this order: see `_mend_place`.
        self.history = History(self.folder, (*self.history.names, path.name), after)
        self.last = last
        old.close()
        self._note_synced()
        return Block(bytes(line), before, after)

    def _mend_place(self) -> None:
        """Hold the segment open that the tail lies in, where Ctrl-C came between the two.

        Until then the closed one is held, which never passes for current.
        """
        if self.last.name != self.history.last_name:
            last = self._open(self.history.last_name)
            self.last.close()
            self.last = last

    def _hash_to(self, offset: int, *, at_most_bytes: int = 1 << 62) -> None:
        """Hash the segment up to `offset`, or so many bytes more."""
        name, digest, hashed = self._hashed
        if name != self.last.name:
            name, digest, hashed = self.last.name, hashlib.sha256(), 0
        offset = min(offset, hashed + at_most_bytes)
        while hashed < offset:
            end = min(hashed + _STEP_BYTES, offset)
            digest = digest.copy()
            digest.update(self.last.read(hashed, end))
            # All by one assignment: Ctrl-C in between would hash a stretch twice.
            self._hashed, hashed = (name, digest, end), end

    def find_key(self, key: str) -> Event | None:
        """Return the event that was appended with this idempotency key."""
        names = self.history.names
        try:
            return self._keys.find(key, names[:-1], self.last, self.tail)
        except BadBlock as error:
            for name in names:
                with Segment(self.folder / name) as segment:
                    if found := locate(segment, self.history.size_of(segment)):
                        raise found from None
            raise changed(self.last.path, error.at.offset) from None

    # --- syncing ---------------------------------------------------------------------------------

    def sync(self, seq: int) -> None:
        """Return once everything up to `seq` is on disk; needs no lock.

        Raises `OSError` where the sync failed; the log is then dead (I3).
        """
        self._commit.wait_for(seq)

    def _sync_written(self) -> Synced:
        history, last = self.history, self.last
        durable.sync(last.fd)
        return Synced(history.tail.seq, last.name, history.tail.offset)

    @property
    def synced(self) -> Synced:
        """The place up to which syncs of ours reached."""
        return self._commit.synced

    @property
    def is_dead(self) -> bool:
        """Say whether nothing more can be appended (I3)."""
        return self._commit.dead is not None


def _is_there(path: Path) -> bool:
    """Say whether there is a file; what cannot be looked at is not taken for missing."""
    try:
        os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def create(folder: Path, lines: bytes) -> None:
    """Make the first segment, whole and durably, with the lines of `first_lines`.

    A crash before the rename leaves no segment; `init` then starts over.
    """
    durable.make_folder(folder, own=True)
    durable.write_file(folder / name_of(1), lines, synced=True)


def _gap(segment: Segment, end: Position | None, next_seq: int) -> Corrupt:
    last = 0 if end is None else end.seq
    size = segment.size()
    return Corrupt(
        f"the segment ends at event {last} and the next one starts at event {next_seq}: "
        f"{plural.are(last + 1, next_seq - 1)} missing",
        path=segment.path,
        line=segment.count_lines(size) + 1,
        offset=size,
        seq=last + 1,
        advice=PUT_BACK_ADVICE,
    )

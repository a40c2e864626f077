"""`CheckpointedLoop`: one checkpoint file, as a Python program uses it.

    from projections.checkpointed_loop.loop import CheckpointedLoop

    loop = CheckpointedLoop(".agent/checkpoints/task.json")
    loop.init(task="data-migration", objective="Migrate the users", max_attempts=3,
              next_action="Inspect the fixture")
    loop.transition("running")

I1  Each verb opens the journal, does one thing inside its lock on the newest checkpoint, and
    closes it: of verbs at the same time each is applied once, or refused with its reason.
I2  A file of another tool is read as it is; the first transition, evidence, or `take_over` takes
    it over. A verb that is refused takes nothing over and leaves every byte as it was.
I3  A file that is gone is written back from the journal, and that is said; one that somebody
    changed stops every verb but `rebuild` and `adopt`, which a person asks for.
I4  The file has the mode 0600, always.
"""

import contextlib
import os
import shlex
import stat
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import msgspec

import journal
from journal import codec, config, durable, locks, regular
from journal.errors import Drift, JournalError, UsageError
from journal.event import Clock, now_ms
from journal.log.history import FOLDER_NAME
from projections.checkpointed_loop import commands, reading
from projections.checkpointed_loop.events import Initialized
from projections.typed_lines import event_type

NAME = "checkpointed_loop"
Command = Callable[..., Sequence[msgspec.Struct]]


class CheckpointedLoop:
    """One checkpoint at `file`; every verb returns the checkpoint as it is after it.

    `on_message` gets each thing that a person should know, such as a file written back; `actor` is
    who does it, in the log.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        clock: Clock = now_ms,
        lock_timeout_s: float = 10.0,
        on_message: Callable[[str], None] | None = None,
        actor: str = "",
    ) -> None:
        """Note where the checkpoint lies; nothing is opened yet."""
        self.actor = actor
        self.file = Path(os.path.abspath(file))
        if not self.file.name:
            raise UsageError(
                f"{self.file} is a folder", key="file", advice="Name the file of the checkpoint."
            )
        name = self.file.name.removesuffix(".json")
        self.private = self.file.with_name(f"{name or self.file.name}.journal")
        self._options: dict[str, Any] = {
            "clock": clock,
            "lock_timeout_s": lock_timeout_s,
            "on_message": on_message,
        }

    # --- verbs -----------------------------------------------------------------------------------

    def init(
        self,
        *,
        task: str,
        objective: str,
        max_attempts: int,
        next_action: str,
        force: bool = False,
    ) -> Any:
        """Begin a checkpoint, in `planned`; folders above it are made.

        Raises `UsageError` where one is there already; `force` begins a new one in its place, and
        the history of the one before stays in the log.
        """
        first = commands.initialize(
            task=task, objective=objective, max_attempts=max_attempts, next_action=next_action
        )
        self._refuse_existing(force)
        durable.make_folder(self.file.parent, mode=0o777)
        timeout_s = self._options["lock_timeout_s"]
        # Of several at once, the first has written its file before the next one looks for it.
        with locks.FolderLock(self.file.parent) as lock, lock.held(timeout_s):
            self._refuse_existing(force)
            if self._has_log or os.path.lexists(self.file):
                return self._begin_again(first)
            draft = journal.Draft(type=event_type(Initialized), data=first, actor=self.actor)
            with self._make_journal(events=[draft]) as engine:
                return engine.state

    def _begin_again(self, first: Initialized) -> Any:
        # A file that is gone is not missed here, so what the engine says of it is not passed on.
        gone = not os.path.lexists(self.file)
        with self._open(commands.reinitialize, first, quiet=gone) as engine:
            engine.execute(commands.reinitialize, first, actor=self.actor)
            return engine.state

    def _refuse_existing(self, force: bool) -> None:
        if self.file.is_dir():
            raise UsageError(
                f"{self.file} is a folder", key="file", advice="Name the file of the checkpoint."
            )
        if self.file.is_symlink() and not self.file.exists():
            raise UsageError(
                f"{self.file} is a symlink to {os.readlink(self.file)!r}, which is not there",
                key="file",
                advice="Remove the link, or name the file itself.",
            )
        if os.path.lexists(self.file) and not force:
            raise UsageError(
                f"{self.file}: there is a checkpoint here already",
                key="file",
                advice="Continue it, or start a new one with --force; its history stays in the "
                "log.",
            )

    def transition(
        self, to: str, *, next_action: str | None = None, reason: str | None = None
    ) -> Any:
        """Go to another state; see `commands.transition`."""
        return self._execute(commands.transition, to, next_action, reason)

    def evidence(self, check: str, outcome: str, *, artifact: str | None = None) -> Any:
        """Record the outcome of a check; see `commands.record_evidence`."""
        return self._execute(commands.record_evidence, check, outcome, artifact)

    def status(self) -> Any:
        """Return the checkpoint; only a file that is not as the log has it is not just read."""
        if not self._is_taken_over:
            with contextlib.suppress(FileNotFoundError):
                return reading.read_whole(self._read(), self.file)
        else:
            regular.check_folder(self.private)
            with journal.open(self.private, read_only=True) as engine:
                self._refuse_unbegun(engine)
                if all(view.status in ("healthy", "behind") for view in engine.status().views):
                    return engine.state
        with self._open() as engine:
            return engine.state

    def take_over(self) -> Any:
        """Take a checkpoint of another tool over now."""
        if self._is_taken_over:
            raise UsageError(f"{self.file} has a journal already", key="file")
        with self._open(_take_as_it_is) as engine:
            return engine.state

    def rebuild(self) -> Any:
        """Put the file back as the log has it; the bytes that stood there go to quarantine."""
        with self._open(on_drift="replace") as engine:
            engine.rebuild()
            return engine.state

    def adopt(self) -> Any:
        """Record what somebody changed in the file as an event; it must be a valid checkpoint."""
        with self._open(on_drift="adopt") as engine:
            engine.adopt()
            return engine.state

    # --- how -------------------------------------------------------------------------------------

    @property
    def _is_taken_over(self) -> bool:
        return (self.private / config.FILE_NAME).exists()

    @property
    def _has_log(self) -> bool:
        folder = self.private / FOLDER_NAME
        return folder.is_dir() and any(entry.suffix == ".jsonl" for entry in folder.iterdir())

    def _execute(self, command: Command, *args: Any) -> Any:
        with self._open(command, *args) as engine:
            self._refuse_unbegun(engine)
            engine.execute(command, *args, actor=self.actor)
            return engine.state

    @contextlib.contextmanager
    def _open(
        self,
        command: Callable[..., Any] | None = None,
        *args: Any,
        on_drift: str = "refuse",
        quiet: bool = False,
    ) -> Generator["journal.Engine"]:
        """Open the journal, made by a take-over or completed where that is due.

        A file is taken over only if `command` does not refuse it as it is read (I2).
        """
        options = self._options | ({"on_message": None} if quiet else {})
        regular.check_folder(self.private)
        if self._is_taken_over:
            self._make_private(self.file)
            with (
                self._explaining(),
                journal.open(self.private, on_drift=on_drift, **options) as engine,
            ):
                yield engine
            self._make_private(self.file)  # in the place of a file that was somebody else's, too
            return
        with self._take_over(command, *args) as engine:
            yield engine

    def _take_over(self, command: Callable[..., Any] | None, *args: Any) -> "journal.Engine":
        try:
            data = self._read()
        except FileNotFoundError:
            if not self._has_log:
                raise self._refuse_missing() from None
            return self._make_journal()
        state = reading.read_whole(data, self.file)
        if command is None:
            raise UsageError(
                f"{self.file} has no journal yet",
                key="file",
                advice="`journal loop takeover` makes one, and so does the next transition.",
            )
        command(codec.copy_value(state), *args)
        self._make_private(os.path.realpath(self.file))
        digest = codec.sha256(data)
        take_over = journal.TakeOver(path=self.file.name, sha256=digest, state=state)
        return self._make_journal(take_over=take_over)

    def _make_journal(self, **first: Any) -> "journal.Engine":
        """Make the journal, or complete one whose making was cut off."""
        regular.check_folder(self.private)
        files = {"state": f"../{self.file.name}"}
        try:
            return journal.init(
                self.private, projection=NAME, view_files=files, **first, **self._options
            )
        except UsageError:
            if not self._is_taken_over:
                raise
            # Another process finished it just now; what it did stands, and we go on from there.
            return journal.open(self.private, **self._options)

    def _read(self) -> bytes:
        # A link to the file is followed here; the journal records where it leads when it is made.
        return regular.read_file(os.path.realpath(self.file))

    def _make_private(self, file: str | Path) -> None:
        """Take everybody else's rights away before the file is replaced, which keeps its mode.

        Behind a link, and under another name that it has, too, it is somebody else's file.
        """
        with contextlib.suppress(FileNotFoundError):
            found = os.lstat(file)
            is_ours = stat.S_ISREG(found.st_mode) and found.st_nlink == 1
            if is_ours and stat.S_IMODE(found.st_mode) != durable.PRIVATE_FILE:
                os.chmod(file, durable.PRIVATE_FILE)

    def _refuse_unbegun(self, engine: "journal.Engine") -> None:
        if not engine.state:
            raise JournalError(
                f"{self.private}: no checkpoint was begun in this journal",
                advice="`journal loop init --force` begins one.",
            )

    def _refuse_missing(self) -> JournalError:
        return JournalError(
            f"{self.file}: there is no checkpoint here", advice="`journal loop init` begins one."
        )

    @contextlib.contextmanager
    def _explaining(self) -> Generator[None]:
        """Say the ways out of a drift in the words of this system (I3)."""
        try:
            yield
        except Drift as error:
            raise Drift(
                f"{error.why}; stop for review",
                path=self.file,
                pointer=error.pointer,
                advice=self._say_ways_out(error),
                adoptable=error.adoptable,
            ) from error

    def _say_ways_out(self, error: Drift) -> str:
        """Name only what would not be refused: an edit that breaks a rule is not adopted."""
        file = shlex.quote(str(self.file))
        adopt = f"`journal loop adopt --file {file}` records the change"
        rebuild = f"`journal loop rebuild --file {file}` puts it back as the log has it"
        if error.adoptable:
            return f"{rebuild}, {adopt}."
        return f"{rebuild}; or mend it by hand, and then {adopt}."


def _take_as_it_is(_state: Any) -> None:
    """Refuse nothing."""


def summarize(state: Any) -> str:
    """Return a checkpoint in one line."""
    attempts = f"attempts {state['attempts']}/{state['maxAttempts']}"
    evidence = f"evidence {len(state['evidence'])}"
    next_action = f"next: {state['nextAction']}"
    return f"{state['taskId']}: {state['state']}; {attempts}; {evidence}; {next_action}"

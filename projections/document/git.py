"""The versions of one file in a local git repository, read by the `git` program.

I1  Nothing is written, fetched or run but `git log`, `cat-file`, `ls-tree`, `rev-list` and
    `rev-parse`, without a shell; the caller's GIT_DIR and the like do not count.
I2  By default the main line counts: the commits by first parents that changed the file, oldest
    first. So `n` stays what it is as the branch grows; in a shallow clone it counts from the
    oldest commit there. Renames are not followed.
I3  A commit that deletes the file is a version without content. An object that the repository
    lacks (a partial clone) is never taken for a deletion.

`git log` and `git cat-file --batch` run side by side; one version is in memory at a time.
"""

import os
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import PurePath
from typing import IO, Literal

import msgspec

from journal.errors import JournalError, UsageError
from journal.event import format_time
from projections.document.version import Problem, Version

Order = Literal["first-parent", "topo"]

_PLACES = (
    "DIR",
    "WORK_TREE",
    "INDEX_FILE",
    "PREFIX",
    "OBJECT_DIRECTORY",
    "COMMON_DIR",
    "NAMESPACE",
)
_OURS = {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1"}
# Settings of the user that would put other text between the commits, or commits of other files.
_GIT = ("git", "--literal-pathspecs", "-c", "log.showSignature=false", "-c", "log.follow=false")
_FORMAT = "%H%x00%ct%x00%an%x00%s"


class _Commit(msgspec.Struct, frozen=True):
    id: str
    time_s: int
    author: str
    subject: str


class GitHistory:
    """The history of one file on one line of commits; it can be read again and again."""

    def __init__(
        self, repo: str | os.PathLike[str], path: str, *, revision: str, order: Order
    ) -> None:
        """Look whether there is such a history; see `read_git`."""
        self._repo = os.fspath(repo)
        self._path = path
        walk = ["--first-parent"] if order == "first-parent" else ["--topo-order"]
        self._walk = [*walk, revision, "--", path]
        self._check(revision)
        self._root_path = self._find_root_path()

    def __iter__(self) -> Iterator[Version | Problem]:
        """Yield the file as it is in each commit, oldest first.

        Raises `JournalError` with git's own words where git fails.
        """
        with (
            self._running("cat-file", "--batch") as contents,
            closing(self._commits()) as commits,
        ):
            for n, commit in enumerate(commits, 1):
                yield self._version(n, commit, contents)

    def total(self) -> int | None:
        """Count the commits."""
        return int(self._run("rev-list", "--count", *self._walk))

    # --- the versions ----------------------------------------------------------------------------

    def _version(
        self, n: int, commit: _Commit, contents: subprocess.Popen[bytes]
    ) -> Version | Problem:
        place = f"{self._repo}, commit {commit.id[:12]}"
        kind, content = self._read_file(commit.id, contents)
        if kind not in ("blob", "missing"):
            return Problem(place, f"{self._path} is no file there (git calls it a {kind})")
        if kind == "missing" and self._run("ls-tree", "--full-tree", commit.id, "--", self._named):
            return Problem(
                place, f"the content of {self._path} is not in this repository (a partial clone?)"
            )
        return Version(
            n=n,
            time=format_time(commit.time_s * 1000),
            author=commit.author,
            message=commit.subject,
            path=_readable(self._named),
            content=content,
            place=place,
        )

    def _read_file(
        self, commit: str, contents: subprocess.Popen[bytes]
    ) -> tuple[str, bytes | None]:
        """Return what git calls the object, and its bytes; None where there is none."""
        asked, answered = _pipes(contents)
        asked.write(commit.encode() + b":" + os.fsencode(self._named) + b"\n")
        asked.flush()
        head = answered.readline().split(b" ")
        if not head[-1].rstrip(b"\n").isdigit():
            if head[-1] == b"missing\n":
                return "missing", None
            raise JournalError(f"{self._repo}: git cat-file ended in the middle of the history")
        size = int(head[-1])
        content = answered.read(size + 1)
        if len(content) <= size:
            raise JournalError(f"{self._repo}: git cat-file ended in the middle of a file")
        return head[-2].decode(), content[:-1]

    def _commits(self) -> Generator[_Commit]:
        with self._running(
            "log", "-z", "--reverse", "--encoding=UTF-8", f"--format=tformat:{_FORMAT}", *self._walk
        ) as log:
            _, listed = _pipes(log)
            fields = _split(listed)
            for commit in fields:
                time_s, author, subject = (next(fields, b"") for _ in range(3))
                yield _Commit(
                    commit.decode(),
                    int(time_s),
                    author.decode(errors="replace"),
                    subject.decode(errors="replace"),
                )

    # --- looking first ---------------------------------------------------------------------------

    def _check(self, revision: str) -> None:
        """Raise `UsageError` where the repository, the revision or the path cannot be used."""
        if revision.startswith("-") or not revision:
            raise UsageError(f"{revision!r} is not a revision", key="revision")
        if "\n" in self._path or "\0" in self._path or not self._path:
            raise UsageError(f"{self._path!r} cannot be the path of a file", key="path")
        self._run("rev-parse", "--git-dir")
        try:
            self._run("rev-parse", "--verify", "--quiet", revision + "^{commit}")
        except UsageError as error:
            raise UsageError(
                f"{self._repo}: there is no revision {revision!r}",
                key="revision",
                advice=f"`git -C {self._repo} log --oneline --all` lists what there is.",
            ) from error
        if self._run("rev-list", "-1", *self._walk):
            return
        raise UsageError(
            f"{self._repo}: no commit that leads to {revision} has a file {self._path}",
            key="path",
            advice="Give the path as seen from the folder REPO, spelled as git spells it. On "
            "another branch: name it as revision. In merged branches only: use the order topo.",
        )

    def _find_root_path(self) -> str:
        """Return the path as seen from the top of the repository, as git's objects name it."""
        prefix = self._run("rev-parse", "--show-prefix").removesuffix(b"\n")
        path = os.fsdecode(self._path)
        if os.path.isabs(path):
            top = os.fsdecode(self._run("rev-parse", "--show-toplevel").removesuffix(b"\n"))
            folder, name = os.path.split(path)
            return os.path.relpath(os.path.join(os.path.realpath(folder), name), top)
        return os.path.normpath(os.path.join(os.fsdecode(prefix), path))

    @property
    def _named(self) -> str:
        return PurePath(self._root_path).as_posix()

    # --- running git -----------------------------------------------------------------------------

    def _run(self, *arguments: str) -> bytes:
        """Run git to its end; raises `UsageError` with its words where it fails."""
        try:
            done = subprocess.run(
                [*_GIT, "-C", self._repo, *arguments],
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise _no_git() from error
        if done.returncode:
            said = _said(done.stderr)
            raise UsageError(f"{self._repo}: {said}", advice="Give a local git repository.")
        return done.stdout

    @contextmanager
    def _running(self, *arguments: str) -> Generator[subprocess.Popen[bytes]]:
        """Run git beside us; raises `JournalError` where it ends badly.

        It is killed where the caller stops reading before the end.
        """
        with ExitStack() as stack:
            words = stack.enter_context(tempfile.TemporaryFile())
            try:
                process = subprocess.Popen(
                    [*_GIT, "-C", self._repo, *arguments],
                    env=_environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=words,
                )
            except FileNotFoundError as error:
                raise _no_git() from error
            stack.enter_context(process)
            try:
                yield process
            except BaseException:
                process.kill()
                raise
            asked, _ = _pipes(process)
            asked.close()
            if process.wait():
                words.seek(0)
                raise JournalError(f"{self._repo}: git {arguments[0]}: {_said(words.read())}")


def read_git(
    repo: str | os.PathLike[str],
    path: str,
    *,
    revision: str = "HEAD",
    order: Order = "first-parent",
) -> GitHistory:
    """Return the history of the file `path` in the git repository `repo`, as `revision` has it.

    `path` is as seen from the folder `repo`, or absolute. `order` is `first-parent`, the main
    line, or `topo`, which takes in merged branches, whose numbers may change with the next merge.
    Raises `UsageError` where git, the repository, the revision or the path is not there.
    """
    return GitHistory(repo, path, revision=revision, order=order)


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


def _split(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the fields of a stream that end with NUL."""
    rest = b""
    while True:
        chunk = os.read(stream.fileno(), 64 << 10)
        if not chunk:
            return
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields


def _environment() -> dict[str, str]:
    dropped = {f"GIT_{name}" for name in _PLACES}
    return {**{k: v for k, v in os.environ.items() if k not in dropped}, **_OURS}


def _readable(path: str) -> str:
    return os.fsencode(path).decode(errors="replace")


def _said(words: bytes) -> str:
    return words.decode(errors="replace").strip().removeprefix("fatal: ") or "it failed silently"


def _no_git() -> UsageError:
    return UsageError(
        "there is no program `git` on the PATH",
        advice="Install git, or import the history from a file of versions.",
    )

"""Where the files of a plan lie.

    <plans>/<slug>.state.json                      the state, which people and scripts read
    <plans>/<slug>.journal/                        the log and what belongs to it, private
    <plans>/<slug>.md                              the plan's text, which others write
    <plans>/<slug>.state.json.bak-<time>           the state before it was started afresh
    <plans>/<slug>.state.json.corrupt-<time>       a damaged state file, as it was found

I1  No side file ends in `.state.json`: whoever lists `*.state.json` sees plans only.
I2  A side file never takes the place of another one.
"""

import errno
import os
import stat
from pathlib import Path

import msgspec

from journal import durable
from journal.config import FILE_NAME
from journal.event import format_time
from projections.loop_plan.slug import check_slug

DEFAULT_FOLDER = "~/.claude/plans"
SUFFIX = ".state.json"


class Place(msgspec.Struct, frozen=True):
    """The folder of the plans and the slug of one of them."""

    folder: Path
    slug: str

    @property
    def state_file(self) -> Path:
        """The state, as others read it."""
        return self.folder / f"{self.slug}{SUFFIX}"

    @property
    def journal(self) -> Path:
        """The private part."""
        return self.folder / f"{self.slug}.journal"

    @property
    def view_files(self) -> dict[str, str]:
        """Where the state lies, seen from the private part."""
        return {"state": f"../{self.state_file.name}"}

    @property
    def has_journal(self) -> bool:
        """Whether a journal keeps the plan already."""
        return (self.journal / FILE_NAME).exists()

    @property
    def plan_path(self) -> str:
        """Where the plan's text is to lie, as it stands in a new state."""
        if self.folder == folder_of(None):
            return f"{DEFAULT_FOLDER}/{self.slug}.md"
        return os.path.abspath(self.folder / f"{self.slug}.md")

    def find_text(self, plan_path: str) -> Path:
        """Return the file that a `plan_path` names; a relative one lies in the plans' folder."""
        return self.folder / Path(plan_path).expanduser()

    def keep_aside(self, kind: str, data: bytes, now_ms: int) -> Path:
        """Write a side file of the state (I2), durably and with the state's mode; return it."""
        mode = durable.PRIVATE_FILE
        try:
            mode = stat.S_IMODE(os.stat(self.state_file).st_mode)
        except FileNotFoundError:
            pass
        while True:
            mark = format_time(now_ms).replace("-", "").replace(":", "")
            path = self.folder / f"{self.state_file.name}.{kind}-{mark}"
            if not path.exists():
                durable.write_file(path, data, mode=mode)
                return path
            now_ms += 1


def place_of(slug: str, plans_dir: str | Path | None) -> Place:
    """Return where the plan `slug` lies; raises `UsageError` for what cannot be a slug."""
    return Place(folder_of(plans_dir), check_slug(slug))


def folder_of(plans_dir: str | Path | None) -> Path:
    """Return the folder of the plans; None is the default one, `~/.claude/plans`."""
    return Path(DEFAULT_FOLDER if plans_dir is None else plans_dir).expanduser()


def may_not_write(error: OSError) -> bool:
    """Say whether an error means that this place may be read but not written."""
    return error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)

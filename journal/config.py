"""`journal.yaml`: what a journal is for and how it wants to be kept; people may edit it.

    format: 1
    id: 5f0c6e2b9d4a4c0f8a1b2c3d4e5f6071
    projection: document
    durability: always
    views: {every_ms: 0, files: {state: state.json}}
    snapshots: {log_ratio: 4.0, min_bytes: 65536, keep: 1000}

I1  `init` writes it last: a folder with a log and without it is an unfinished `init`.
I2  For format and id the log's first event wins; for all else this file does.
I3  An unknown key or a value of the wrong type is an error that names it; nothing is guessed.
    So are YAML's tags, anchors, aliases and merge keys: a setting is what stands there.
I4  A view lies in the journal's folder, or beside it (`../state.json`), never among the journal's
    own files, and is reached through no symlink: a journal that came from elsewhere writes
    nothing elsewhere. The view itself may be a link that `targets` records.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from journal import codec, durable, regular, unfit
from journal.errors import Corrupt, JournalError, UnsupportedFormat, UsageError
from journal.event import FORMAT
from journal.segment import name_of

FILE_NAME = "journal.yaml"
_OWN_FOLDERS = frozenset({"log", "snapshots", "quarantine"})
_OWN_NAMES = _OWN_FOLDERS | {FILE_NAME, "witness.json", "."}
_PLAIN_LINE = re.compile(r"((?:  )*)([a-z_]+):(?: (\S+))?")
_PLAIN_INTEGER = re.compile(r"0|[1-9][0-9]{0,17}")
_PLAIN_NUMBER = re.compile(r"[0-9]{1,15}\.[0-9]{1,15}")
# Names and paths, and an id that no number is written like.
_PLAIN_TEXT = re.compile(
    r"[A-Za-z](?:[\w.:/-]*[\w/-])?|\.{1,2}[a-z]*/[\w./-]+|(?!0b)(?=[0-9]*[a-f])[0-9a-f]{32}",
    re.ASCII,
)
_YAML_WORDS = frozenset({"yes", "no", "true", "false", "on", "off", "null", "y", "n"})
_HEAD = """\
# A journal: the log in log/ is the only truth; every other file can be rebuilt from it.
# durability: always (each append is on disk when it returns), batch (at most batch_ms later),
# or os (when the operating system likes).
"""

Durability = Literal["always", "batch", "os"]
DURABILITIES: tuple[str, ...] = get_args(Durability)


class ViewsConfig(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How often views are written (0: with every append) and where they lie.

    `files` maps a view's name to its path, relative to the journal folder; `targets` maps the
    name of a view that is a symlink to the file it is known to lead to.
    """

    every_ms: int = 0
    files: dict[str, str] = {}
    targets: dict[str, str] = {}


class SnapshotsConfig(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """When the engine takes snapshots by itself, and how many of those it keeps.

    One is due when the log has grown by `log_ratio` times the newest one's size, and by
    `min_bytes`; beyond `keep` the older ones are thinned evenly.
    """

    log_ratio: float = 4.0
    min_bytes: int = 64 << 10
    keep: int = 1000


class Config(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """What `journal.yaml` says."""

    format: int = FORMAT
    id: str
    projection: str = "document"
    durability: Durability = "always"
    batch_ms: int = 100
    segment_bytes: int = 64 << 20
    views: ViewsConfig = msgspec.field(default_factory=ViewsConfig)
    snapshots: SnapshotsConfig = msgspec.field(default_factory=SnapshotsConfig)


def read(folder: Path) -> Config:
    """Read `journal.yaml` of a journal folder.

    Raises `JournalError` where there is no journal or an unfinished one, `UnsupportedFormat`, and
    `Corrupt` with line or key for anything that is not as in this file's docstring.
    """
    path = folder / FILE_NAME
    try:
        raw = regular.read_file(path)
    except FileNotFoundError:
        raise _no_journal(folder) from None
    found = _parse(path, raw)
    number = found.get("format", FORMAT)
    if number != FORMAT:
        raise UnsupportedFormat(path=path, found=number)
    try:
        config = msgspec.convert(found, Config)
    except msgspec.ValidationError as error:
        raise _unfit(path, raw.decode(), found, error) from error
    _check(path, config)
    return config


_INDIRECT = re.compile(r"[!&*]|<<")
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|>{7}) |^={7}$", re.MULTILINE)
_HOW_TO_MEND = "Mend the file by hand; the log is not touched by what stands there."


def find_around(path: Path) -> Path | None:
    """Return the journal that `path` is a part of: a file of it, one of its folders, or in one.

    None for anything else, and for a journal, wherever it lies.
    """
    here = Path(os.path.abspath(path))
    if _holds_journal(here):
        return None
    for folder in here.parents[:2]:
        first = here.relative_to(folder).parts[0]
        is_part = first in _OWN_FOLDERS or (folder == here.parent and here.is_file())
        if is_part and _holds_journal(folder):
            return folder if path.is_absolute() else Path(os.path.relpath(folder))
    return None


def _holds_journal(folder: Path) -> bool:
    names = (FILE_NAME, os.path.join("log", name_of(1)))
    return any(os.path.lexists(folder / name) for name in names)


def refuse_inside(path: Path) -> None:
    """Raise `UsageError` for a part of a journal, where the journal itself is to be named."""
    if (around := find_around(path)) is not None:
        raise UsageError(
            f"{path} is a part of the journal in {around}",
            key="dir",
            advice=f"Name the journal itself, `{shlex.quote(str(around))}`.",
        )


def _no_journal(folder: Path) -> JournalError:
    refuse_inside(folder)
    init = f"`journal init {shlex.quote(str(folder))}`"
    if not folder.exists():
        return JournalError(
            f"{folder}: there is no such folder",
            advice=f"{init} makes a journal there.",
        )
    if (folder / "log").is_dir():
        return JournalError(
            f"{folder}: {FILE_NAME} is missing, so this journal was not finished or lost it",
            advice=f"{init} completes it; the log stays as it is.",
        )
    return JournalError(f"{folder}: no journal here (no {FILE_NAME})", advice=f"{init} makes one.")


def _parse(path: Path, raw: bytes) -> dict[str, Any]:
    text = _decode(path, raw)
    if (plain := read_plain(text)) is not None:
        return plain
    import yaml

    try:
        _refuse_indirect(path, text)
        _refuse_twice(path, yaml.compose(text, Loader=yaml.SafeLoader))
        found = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        why = error.problem or "not YAML"
        if (marker := _CONFLICT.search(text)) is not None:
            line, why = text.count("\n", 0, marker.start()) + 1, "a git conflict marker"
        raise Corrupt(why, path=path, line=line, advice=_HOW_TO_MEND) from error
    except yaml.reader.ReaderError as error:
        raise _unprintable(path, text, error.position) from error
    except (yaml.YAMLError, ValueError, RecursionError, AttributeError, TypeError) as error:
        raise Corrupt(str(error) or "not YAML", path=path, advice=_HOW_TO_MEND) from error
    if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
        why = "a mapping of settings is expected" if text.strip() else "the file is empty"
        raise Corrupt(why, path=path, advice=_HOW_TO_MEND)
    return found


def read_plain(text: str) -> dict[str, Any] | None:
    """Read the plain YAML that `write` gives; None for all else, which a YAML reader has to read.

    That costs ten times more than the rest of opening a journal, and its import twenty times.
    """
    found: dict[str, Any] = {}
    levels, opened = [found], False
    if not text.isascii():
        return None
    for line in text.split("\n"):
        if not line or (line[0] == "#" and line.isprintable()):
            continue
        match = _PLAIN_LINE.fullmatch(line)
        depth = len(match[1]) // 2 if match else 0
        if match is None or depth >= len(levels) or (opened and depth + 1 != len(levels)):
            return None
        key, value = match[2], _plain_value(match[3])
        if value is None or key in levels[depth] or key in _YAML_WORDS:
            return None
        levels[depth][key] = value
        del levels[depth + 1 :]
        opened = match[3] is None
        if opened:
            levels.append(value)
    return found if found and not opened else None


def _plain_value(text: str | None) -> Any:
    """Return the value of one plain scalar, or of a mapping that begins; None for any other."""
    if text is None or text == "{}":
        return {}
    if _PLAIN_INTEGER.fullmatch(text):
        return int(text)
    if _PLAIN_NUMBER.fullmatch(text):
        return float(text)
    return text if _PLAIN_TEXT.fullmatch(text) and text.lower() not in _YAML_WORDS else None


def _decode(path: Path, raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        wide = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
        why = "UTF-16 text, expected UTF-8" if wide else "not UTF-8"
        raise Corrupt(why, path=path, offset=error.start, advice=_HOW_TO_MEND) from error


def _unprintable(path: Path, text: str, at: int) -> Corrupt:
    name = "NUL bytes" if text[at] == "\0" else f"the character U+{ord(text[at]):04X}"
    return Corrupt(
        f"{name}, which cannot stand in YAML",
        path=path,
        line=text.count("\n", 0, at) + 1,
        offset=len(text[:at].encode()),
        advice=_HOW_TO_MEND,
    )


def _refuse_indirect(path: Path, text: str) -> None:
    """Raise `Corrupt` for YAML that says a value by another one or by a tag (I3)."""
    import yaml

    if not _INDIRECT.search(text):
        return
    events: Iterator[Any] = yaml.parse(text, Loader=yaml.SafeLoader)
    for event in events:
        tag = getattr(event, "tag", None)
        what = ""
        if isinstance(event, yaml.AliasEvent):
            what = f"the alias *{event.anchor}"
        elif getattr(event, "anchor", None):
            what = f"the anchor &{event.anchor}"
        elif tag is not None:
            what = f"the tag {tag.replace('tag:yaml.org,2002:', '!!')}"
        elif isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
            what = "a merge key <<"
        if what:
            raise Corrupt(
                f"{what}, which settings do not have",
                path=path,
                line=event.start_mark.line + 1,
                advice=f"Write the value itself there. {_HOW_TO_MEND}",
            )


def _refuse_twice(path: Path, root: Any) -> None:
    """Raise `Corrupt` where a setting stands twice: YAML's reader would take the last."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node is None or id(node) in seen or node.id == "scalar":
            continue
        seen.add(id(node))
        if node.id == "sequence":
            waiting += node.value
            continue
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.id == "scalar" and (first := lines.setdefault(key.value, line)) != line:
                raise Corrupt(
                    f"{key.value} stands twice, first at line {first}",
                    path=path,
                    line=line,
                    advice=_HOW_TO_MEND,
                )
            waiting.append(value)


def _unfit(path: Path, text: str, found: Any, error: msgspec.ValidationError) -> Corrupt:
    """Make the error for a setting that is unknown or does not fit, with its line."""
    why = unfit.say(error, "the file")
    unknown = why.endswith(" is not known")
    place = why.removesuffix(" is not known") if unknown else re.split(r":? |\[", why)[0]
    key, shape = _split_place(place)
    for name in key[:-1]:
        found = found[name]
    if "Invalid enum value" in why:
        why = f"{'.'.join(key)} is {found[key[-1]]!r}; it is one of {', '.join(DURABILITIES)}"
    elif unknown:
        why = f"{'.'.join(key)} is no setting; there are {', '.join(shape.__struct_fields__)}"
    return Corrupt(why, path=path, line=_line_of(text, key), advice=_HOW_TO_MEND)


def _split_place(place: str) -> tuple[list[str], Any]:
    """Return the names on the way to a setting, and its section; a name may hold dots itself."""
    key: list[str] = []
    section: Any = Config(id="")
    while True:
        name, dot, rest = place.partition(".")
        inner = getattr(section, name, None)
        if dot and isinstance(inner, dict):
            return [*key, name, rest], inner
        if not dot or not isinstance(inner, msgspec.Struct):
            return [*key, place], section
        key.append(name)
        section, place = inner, rest


def _line_of(text: str, key: list[str]) -> int | None:
    """Return the line where a setting stands, None for one that is missing."""
    import yaml

    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    line: int | None = None
    for name in key:
        pairs = node.value if node is not None and node.id == "mapping" else []
        found = next((pair for pair in pairs if pair[0].value == name), None)
        if found is None:
            return None
        node, line = found[1], found[0].start_mark.line + 1
    return line


def _check(path: Path, config: Config) -> None:
    bounds = {
        "batch_ms": config.batch_ms >= 1,
        "segment_bytes": config.segment_bytes >= 1,
        "views.every_ms": config.views.every_ms >= 0,
        "snapshots.log_ratio": config.snapshots.log_ratio > 0,
        "snapshots.min_bytes": config.snapshots.min_bytes >= 0,
        "snapshots.keep": config.snapshots.keep >= 1,
    }
    for key, fits in bounds.items():
        if not fits:
            raise Corrupt(f"{key} is out of its range", path=path, advice=_HOW_TO_MEND)
    for name, file in config.views.files.items():
        if why := misplaced(file, path.parent):
            raise Corrupt(f"views.files.{name}: {why}", path=path, advice=_HOW_TO_MEND)


def misplaced(file: object, folder: Path) -> str:
    """Say why no view of the journal in `folder` can lie at this path; empty if one can (I4)."""
    if not isinstance(file, str) or not file or "\0" in file or codec.text_fault(file):
        return "it is not the path of a file"
    if os.path.isabs(file):
        return f"{file!r} is an absolute path; it is told from the journal's folder"
    parts = os.path.normpath(file).split(os.sep)
    if parts[:2] == ["..", ".."] or parts == [".."]:
        return f"{file!r} is outside of the folder that the journal lies in"
    if parts[0] == ".." and parts[1] == os.path.basename(os.path.abspath(folder)):
        parts = parts[2:] or ["."]
    if parts[0] in _OWN_NAMES:
        return f"{file!r} is among the journal's own files"
    for length in range(1, len(parts)):
        if parts[:length] != [".."] and folder.joinpath(*parts[:length]).is_symlink():
            return f"{file!r} leads through {parts[length - 1]!r}, which is a symlink"
    return ""


def write(folder: Path, config: Config) -> None:
    """Write `journal.yaml`, durably (I1)."""
    import yaml

    found = msgspec.to_builtins(config)
    text = yaml.safe_dump(found, sort_keys=False, allow_unicode=True, default_flow_style=False)
    durable.write_file(folder / FILE_NAME, (_HEAD + text).encode())

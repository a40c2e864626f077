"""A checkout's own environment: `.venv` beside pyproject.toml, the project installed in place.

Owns `.venv` and the stamp in it, which says what was installed there, and from what.

I1  Nothing but the standard library, and no syntax newer than Python 3.8, so that a machine with
    nothing installed, or with too old a Python, gets a sentence instead of a traceback.
I2  While a set-up is under way the stamp says so. Cut off anywhere, the next one starts anew.
I3  Only a `.venv` that was made here is ever emptied; any other is only installed into.
I4  One set-up at a time, by a kernel lock on the checkout's folder: two pips would spoil `.venv`.

What it does not do: install Python, pip or anything outside of the checkout.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn, cast

ROOT = Path(__file__).resolve().parent.parent
OLDEST_PYTHON = (3, 11)
STAMP = "journal-engine.json"


def run(command: list[str], *, extra: str | None = None) -> NoReturn:
    """Set the checkout up, then become `command`, whose first word is a program in `.venv/bin`.

    `extra` names one of the project's extras, to be installed as well. The exit code is the
    command's own; 1 when this machine lacks something, and pip's when an installation fails.
    """
    lack = machine_lacks(
        python=sys.version_info[:2],
        ensurepip=importlib.util.find_spec("ensurepip") is not None,
    )
    if lack:
        sys.exit(lack)
    try:
        set_up(ROOT, extras=[extra] if extra else [])
    except KeyboardInterrupt:
        say("stopped; the same command starts the set-up anew")
        sys.exit(130)
    program = str(ROOT / ".venv" / "bin" / command[0])
    os.execv(program, [program, *command[1:]])


def machine_lacks(*, python: tuple[int, int], ensurepip: bool) -> str:
    """What this machine lacks and how to get it, in words; empty when nothing is missing."""
    if python < OLDEST_PYTHON:
        return (
            f"journal-engine needs Python 3.11 or newer; {sys.executable} is "
            f"{python[0]}.{python[1]}.\nRun the same command with a newer one, as in: python3.12 …"
        )
    if not ensurepip:
        return (
            f"{sys.executable} cannot make a virtual environment: it comes without ensurepip.\n"
            "On Debian and Ubuntu that is a package of its own: apt-get install python3-venv"
        )
    return ""


def set_up(root: Path, *, extras: list[str]) -> None:
    """Make `root/.venv` hold the project as pyproject.toml has it now, with `extras`.

    Extras that an earlier set-up installed stay. Where nothing has changed since, this reads two
    small files. A step that fails ends the process with that step's exit code.
    """
    folder = os.open(root, os.O_RDONLY)  # closed on exec: the command runs without the lock
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        venv = root / ".venv"
        was = read_stamp(venv / STAMP)
        now: dict[str, Any] = {
            "made_here": not venv.exists() if was is None else was.get("made_here", False),
            "root": str(root),
            "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
            "pyproject": hashlib.sha256((root / "pyproject.toml").read_bytes()).hexdigest(),
            "extras": sorted({*extras, *(was or {}).get("extras", [])}),
        }
        if was == now and runs(venv):
            return
        # Of another path or another Python, the scripts and packages in there are of no use.
        fits = was and runs(venv) and all(was.get(key) == now[key] for key in ("root", "python"))
        if now["made_here"] and not fits:
            make_venv(venv)
        if not now["made_here"] and not has_pip(venv):
            say(f"{venv} was not made here and has no pip that works: remove it and run this again")
            sys.exit(1)
        write_stamp(venv / STAMP, {"made_here": now["made_here"]})
        install(root, now["extras"])
        write_stamp(venv / STAMP, now)
    finally:
        os.close(folder)


def read_stamp(stamp: Path) -> dict[str, Any] | None:
    """What the last set-up left: None without a stamp, at most `made_here` when it was cut off."""
    try:
        was: Any = json.loads(stamp.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError:
        return {}
    return cast("dict[str, Any]", was) if isinstance(was, dict) else {}


def write_stamp(stamp: Path, now: dict[str, Any]) -> None:
    """Write `stamp`. Cut off half-way it cannot be parsed, and counts as not made here."""
    stamp.write_text(json.dumps(now) + "\n", encoding="utf-8")


def runs(venv: Path) -> bool:
    """Whether there still is a Python at the end of the link in `venv`."""
    return os.access(venv / "bin" / "python", os.X_OK)


def has_pip(venv: Path) -> bool:
    """Whether `venv` can install anything; one that another tool made may not."""
    probe = [str(venv / "bin" / "python"), "-m", "pip", "--version"]
    return runs(venv) and not subprocess.run(probe, check=False, capture_output=True).returncode


def make_venv(venv: Path) -> None:
    """Make `venv` from nothing. It is stamped as unfinished before anything else is in it."""
    say("making .venv")
    if venv.exists():
        shutil.rmtree(venv)
    venv.mkdir()
    write_stamp(venv / STAMP, {"made_here": True})
    step([sys.executable, "-m", "venv", str(venv)])


def install(root: Path, extras: list[str]) -> None:
    """Install the project in place, so that a change of its code needs no new set-up."""
    what = f"[{','.join(extras)}]" if extras else ""
    say(f"installing journal-engine{what} into .venv (a minute or two the first time)")
    start = time.monotonic()
    python = str(root / ".venv" / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
    step([*pip, "-qq", "--editable", f"{root}{what}"])
    say(f"installed in {time.monotonic() - start:.0f} s")


def step(command: list[str]) -> None:
    """Run `command` with its words on stderr: stdout belongs to the command we set up for."""
    code = subprocess.run(
        command, check=False, stdin=subprocess.DEVNULL, stdout=sys.stderr
    ).returncode
    if code:
        say(f"this failed with exit code {code}: {' '.join(command)}")
        sys.exit(code if code > 0 else 1)


def say(words: str) -> None:
    """One line of progress, on stderr."""
    print(f"checkout: {words}", file=sys.stderr, flush=True)

"""What a run was made with and on: versions, processor, file system."""

import importlib.metadata
import os
import platform
import sqlite3
import subprocess
from pathlib import Path

_PACKAGES = (
    *("journal-engine", "msgspec", "orjson", "eventsourcing"),
    *("langgraph-checkpoint-sqlite", "redis"),
)


def describe(*, quick: bool, argv: list[str]) -> dict[str, str]:
    """Return what a reader of the figures wants to know."""
    found = {
        "command": " ".join(["python -m bench", *argv]),
        "sizes": "quick" if quick else "full",
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "sqlite": sqlite3.sqlite_version,
        "redis-server": _redis_version(),
    }
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _redis_version() -> str:
    try:
        done = subprocess.run(
            ["redis-server", "--version"], capture_output=True, text=True, check=False
        )
    except OSError:
        return "not here"
    words = [word[2:] for word in done.stdout.split() if word.startswith("v=")]
    return words[0] if words else "not here"

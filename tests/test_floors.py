"""The house: who may import whom, and who may touch the disk.

The import contract itself stands in pyproject.toml and is run by import-linter. Here stands what
an import graph cannot say: that the contract forgets no module, what `import journal` loads when
it runs, and that `durable` alone makes bytes durable.
"""

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("journal", "snapshots", "projections")
ROOF = ("journal.cli", "journal.engine", "projections", "snapshots", "typer", "click", "yaml")

RESERVED = {
    "journal.durable": (
        "fsync",
        "fdatasync",
        "rename",
        "renames",
        "truncate",
        "ftruncate",
        "replace",
    ),
    "journal.locks": ("flock", "lockf"),
}
"""Which calls belong to which module alone."""
_BY_NAME = frozenset(call for calls in RESERVED.values() for call in calls) - {"replace"}


def modules() -> dict[str, Path]:
    """Every module of the three packages by its dotted name; a package by its own name."""
    found: dict[str, Path] = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def reserved_calls(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, name) wherever `source` reaches for what only `durable` or `locks` may do.

    `durable.truncate` is how everybody else asks for it. `replace` is a method of str too: it
    counts on `os`, and with the single argument that only a path's `replace` takes.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="os" | "fcntl", names=names):
                for name in names:
                    if name.name in _BY_NAME or name.name == "replace":
                        yield node.lineno, name.name
            case ast.Attribute(value=ast.Name(id="durable")):
                pass
            case ast.Attribute(attr=attr) if attr in _BY_NAME:
                yield node.lineno, attr
            case ast.Attribute(value=ast.Name(id="os"), attr="replace"):
                yield node.lineno, "replace"
            case ast.Call(func=ast.Attribute(value=owner, attr="replace"), args=[_], keywords=[]):
                if not (isinstance(owner, ast.Name) and owner.id in ("durable", "os")):
                    yield node.lineno, "replace"
            case _:
                pass


def test_only_durable_syncs_replaces_and_truncates_and_only_locks_locks() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {call}"
        for name, path in sorted(modules().items())
        for line, call in reserved_calls(path.read_text(encoding="utf-8"))
        if call not in RESERVED.get(name, ())
    ]
    assert not found, "ask journal.durable or journal.locks instead:\n" + "\n".join(found)


@pytest.mark.parametrize(("name", "call"), [("durable", "fdatasync"), ("locks", "flock")])
def test_those_two_are_caught_by_the_search_that_spares_them(name: str, call: str) -> None:
    source = (ROOT / "journal" / f"{name}.py").read_text("utf-8")
    assert call in {found for _, found in reserved_calls(source)}


@pytest.mark.parametrize(
    "planted",
    [
        "os.fsync(f)",
        "os.replace(a, b)",
        "from os import replace as swap",
        "from fcntl import flock",
        "sync = os.fdatasync",
        "Path(a).rename(b)",
        "Path(a).replace(b)",
        "open(a, 'r+b').truncate(9)",
        "fcntl.lockf(f, fcntl.LOCK_EX)",
    ],
)
def test_a_planted_call_outside_durable_is_found(planted: str) -> None:
    assert list(reserved_calls(f"def f():\n    {planted}"))


@pytest.mark.parametrize(
    "harmless",
    [
        "durable.replace(a, b)",
        "durable.truncate(f)",
        "text.replace('a', 'b')",
        "when.replace(tzinfo=UTC)",
        "msgspec.structs.replace(event, seq=7)",
    ],
)
def test_asking_durable_and_replacing_in_a_text_are_let_through(harmless: str) -> None:
    assert not list(reserved_calls(harmless))


def test_import_journal_loads_the_ground_floor_only() -> None:
    code = "import journal, sys; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    loaded = set(ran.stdout.split())
    assert "journal.log" in loaded
    assert loaded.isdisjoint(ROOF)


def test_every_module_stands_on_a_floor_of_the_contract() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = pyproject["tool"]["importlinter"]["contracts"]
    floors = [name.strip(" ()") for layer in contract["layers"] for name in layer.split("|")]
    homeless = [
        name
        for name in sorted(modules())
        if name not in PACKAGES
        and not any(name == floor or name.startswith(floor + ".") for floor in floors)
    ]
    assert not homeless, f"give them a floor in pyproject.toml, [tool.importlinter]: {homeless}"

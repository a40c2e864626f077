"""A fingerprint of a projection's code, so that no snapshot of other code is ever used.

I1  It covers the source of the modules given and of every module of the same top-level package
    that their imports reach (of ours: `projections` alone), with line ends as LF.
I2  Source is read through the module's loader, so it works out of a zip file; where there is no
    source the fingerprint is empty, and an empty one matches nothing.
"""

import hashlib
import importlib.util
import re
from collections.abc import Iterable
from importlib.abc import InspectLoader

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)|import[ \t]+([^\n#;]+))",
    re.MULTILINE,
)
_known: dict[frozenset[str], str] = {}


def compute_revision(modules: Iterable[str]) -> str:
    """Return the SHA-256 over the source that these modules reach (I1), or an empty text (I2)."""
    start = frozenset(modules)
    if start not in _known:
        _known[start] = _compute(start)
    return _known[start]


def _compute(start: frozenset[str]) -> str:
    sources: dict[str, str] = {}
    waiting = sorted(start)
    while waiting:
        name = waiting.pop()
        if name in sources:
            continue
        source = read_source(name)
        if source is None:
            if name in start:
                return ""
            continue
        sources[name] = source
        package = name.partition(".")[0]
        waiting += [found for found in _imports(source) if found.partition(".")[0] == package]
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(f"{name}\n{sources[name]}\n".encode())
    return digest.hexdigest()


def read_source(name: str) -> str | None:
    """Return the source of a module with LF line ends, None where it cannot be had."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not isinstance(spec.loader, InspectLoader):
        return None
    try:
        source = spec.loader.get_source(name)
    except (ImportError, OSError):
        return None
    return None if source is None else source.replace("\r\n", "\n").replace("\r", "\n")


def _imports(source: str) -> Iterable[str]:
    """Return the names that may be modules in the import statements of a source."""
    for match in _IMPORT.finditer(source):
        parent, names, plain = match.groups()
        listed = re.sub(r"#[^\n]*", "", names or plain).strip("() \t\n").split(",")
        for entry in listed:
            name = entry.split(" as ")[0].strip()
            if name:
                yield f"{parent}.{name}" if parent else name
        if parent:
            yield parent

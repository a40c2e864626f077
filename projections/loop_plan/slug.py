"""The name of a plan: made from its statement, or given.

I1  A slug that we make is 1 to 40 of a-z, 0-9 and single hyphens inside.
I2  A slug that names an existing plan need only be one safe part of a path: files of before may
    have been named by other rules.
"""

import hashlib
import re

from journal.errors import UsageError

MAX_CHARACTERS = 40

_OTHER = re.compile(r"[^a-z0-9]+")
_UNSAFE = re.compile(r"[/\\\x00-\x1f]")


def make_slug(statement: str) -> str:
    """Make the slug of a task statement (I1).

    Where nothing of it can be used, `plan-` and 8 hexadecimal digits of its SHA-256.
    """
    found = _shorten(statement)
    if found:
        return found
    return "plan-" + hashlib.sha256(statement.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def check_new_slug(slug: str) -> str:
    """Return a slug that was given for a new plan; raises `UsageError` unless it is one (I1)."""
    fitting = _shorten(slug)
    if slug and slug == fitting:
        return slug
    hint = f", such as {fitting!r}" if fitting else ""
    raise UsageError(
        f"slug: {slug!r} cannot name a plan",
        key="slug",
        advice=f"Allowed: 1 to {MAX_CHARACTERS} of a-z, 0-9 and single hyphens inside{hint}.",
    )


def check_slug(slug: str) -> str:
    """Return a slug that names an existing plan; raises `UsageError` unless it is safe (I2)."""
    if slug and slug not in (".", "..") and not _UNSAFE.search(slug):
        return slug
    raise UsageError(
        f"slug: {slug!r} is not the name of a plan",
        key="slug",
        advice="A plan is named as its file is: NAME of NAME.state.json, without folders; "
        "`--plans-dir` says in which folder.",
    )


def _shorten(text: str) -> str:
    return _OTHER.sub("-", text.lower()).strip("-")[:MAX_CHARACTERS].rstrip("-")

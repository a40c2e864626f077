"""Fuzzing led by coverage: inputs that reach new lines of the code are kept and changed further.

I1  What an input reaches is the set of (file, line before, line) of the traced files: going another
    way through the same lines is new, too.
I2  The same seed makes the same inputs, as long as the code and its coverage are the same.
I3  The target judges every input; coverage is watched for one of `traced_every`, for watching costs
    three times what a run does.
"""

import os
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FrameType, ModuleType
from typing import Any, NamedTuple

Mutate = Callable[[bytes, random.Random], bytes]

_MAX_BYTES = 4096
_KEPT = 2000


class Fuzzed(NamedTuple):
    """How often the target ran, how many inputs were kept, and how many ways were seen."""

    runs: int
    kept: int
    ways: int


def fuzz(
    target: Callable[[bytes], None],
    *,
    seeds: Iterable[bytes],
    mutators: Sequence[Mutate],
    traced: Sequence[ModuleType],
    runs: int,
    seed: int = 1,
    traced_every: int = 1,
    with_new: Callable[[bytes], None] = lambda data: None,
) -> Fuzzed:
    """Run `target` on inputs made from `seeds`; whatever it raises is raised, with the input.

    `with_new` is run with those that go a new way: for what is too slow to be tried with each.
    """
    rng = random.Random(seed)
    tracer = _Tracer(traced)
    corpus: list[bytes] = []
    for data in seeds:
        tracer.is_new(target, data)
        corpus.append(data)
    for number in range(runs):
        data = rng.choice(corpus)
        for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
            data = rng.choice(mutators)(data, rng)[:_MAX_BYTES]
        if number % traced_every:
            _run(target, data)
        elif tracer.is_new(target, data) and len(corpus) < _KEPT:
            corpus.append(data)
            with_new(data)
    return Fuzzed(runs + len(corpus), len(corpus), len(tracer.seen))


def _run(target: Callable[[bytes], None], data: bytes) -> None:
    try:
        target(data)
    except BaseException as error:
        error.add_note(f"the input was {data!r}")
        raise


class _Tracer:
    """Runs the target and says whether it went a new way (I1)."""

    def __init__(self, traced: Sequence[ModuleType]) -> None:
        self._files = {os.path.abspath(str(module.__file__)) for module in traced}
        self._wanted: dict[CodeType, bool] = {}
        self.seen: set[tuple[CodeType, int, int]] = set()

    def is_new(self, target: Callable[[bytes], None], data: bytes) -> bool:
        before = len(self.seen)
        sys.settrace(self._enter)
        try:
            _run(target, data)
        finally:
            sys.settrace(None)
        return len(self.seen) > before

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        wanted = self._wanted.get(code)
        if wanted is None:
            wanted = self._wanted[code] = os.path.abspath(code.co_filename) in self._files
        if not wanted:
            return None
        last, seen = 0, self.seen

        def step(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "line":
                seen.add((code, last, frame.f_lineno))
                last = frame.f_lineno
            return step

        return step


# --- changes -------------------------------------------------------------------------------------


def flip(data: bytes, rng: random.Random) -> bytes:
    """Change one bit."""
    if not data:
        return b"\0"
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def cut(data: bytes, rng: random.Random) -> bytes:
    """Take a stretch out."""
    start, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return data[:start] + data[end:]


def double(data: bytes, rng: random.Random) -> bytes:
    """Put a stretch in twice."""
    start, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
    return data[:end] + data[start:end] + data[end:]


def shuffle_lines(data: bytes, rng: random.Random) -> bytes:
    """Exchange, drop or repeat lines."""
    lines = data.splitlines(keepends=True)
    if lines:
        rng.choice((rng.shuffle, lambda some: some.pop(), lambda some: some.append(some[0])))(lines)
    return b"".join(lines)


def put_in(words: Sequence[bytes]) -> Mutate:
    """Return the change that puts one of some words in, or over what is there."""

    def change(data: bytes, rng: random.Random) -> bytes:
        word, at = rng.choice(words), rng.randrange(len(data) + 1)
        return data[:at] + word + data[at + rng.choice((0, len(word))) :]

    return change

"""What makes tens of thousands of journals affordable, without changing what is tested."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from journal import config as configs


@contextmanager
def settings_parsed_once() -> Iterator[None]:
    """Parse each text of a `journal.yaml` once: two thirds of the time of opening go into that.

    A text that is refused is parsed each time.
    """
    parse = configs._parse

    @functools.lru_cache(maxsize=1024)
    def parsed(path: Path, raw: bytes) -> dict[str, Any]:
        return parse(path, raw)

    with mock.patch.object(configs, "_parse", parsed):
        yield

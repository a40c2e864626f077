"""What a reader of foreign text returns: the value, what is worth saying, and where things stand.

`marks` and `texts` are kept by YAML only, and only when asked for; both are keyed by JSON Pointer.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Mark(NamedTuple):
    """A place in a text: line and column in characters, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A value that was read from foreign text.

    `warnings` are whole sentences with path and line. `marks` says where each value stands: a
    member of a mapping at its key, an item of a list at its start. `texts` has the spelling of
    every value that became a number, a boolean or null, such as `1.10` for 1.1.
    """

    value: Any
    warnings: tuple[str, ...] = ()
    marks: dict[str, Mark] = field(default_factory=dict[str, Mark])
    texts: dict[str, str] = field(default_factory=dict[str, str])

    def mark(self, pointer: str) -> Mark | None:
        """Return the place of `pointer`, or of the nearest value around it that has one."""
        while pointer not in self.marks and pointer:
            pointer = pointer.rpartition("/")[0]
        return self.marks.get(pointer)

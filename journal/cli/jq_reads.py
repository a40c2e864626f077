"""What a jq program reads of its input, where that can be told from its text.

    .round >= 600 and (.tasks | length) > 3       ["round", "tasks"]
    [.tasks[] | select(.done)] | length > 2       ["tasks"]
    .. | .done?                                   None: it may read everything

I1  What is told is never too little: a program of which only those members are left of an object
    gives the same as of the whole object. In doubt it is None.
I2  Before the first `|` of a program, or of what stands in brackets, only members by their names,
    literals and operators are let through; all of what stands behind it reads what came out of
    that, whatever it does. Variables, comments and texts with programs in them are not followed.
"""

import re

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<name>\.[A-Za-z_][A-Za-z0-9_]*)
      | (?P<text>"(?:[^"\\]|\\[^(])*")
      | (?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
      | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
      | (?P<operator>==|!=|<=|>=|//(?!=)|[<>+\-*/%,](?!=))
      | (?P<pipe>\|(?!=))
      | (?P<open>[(\[])
      | (?P<close>[)\]])
      | (?P<mark>[?:])
    )""",
    re.VERBOSE,
)
_CLOSES = {"(": ")", "[": "]"}
_VALUES = ("true", "false", "null")
_JOINS = ("and", "or")


def members_read(program: str) -> list[str] | None:
    """Return the members of the input object that a program reads; None where it may be others."""
    if "$" in program or "#" in program or "\\(" in program:
        return None
    found: dict[str, None] = {}
    try:
        if _Reader(program, found).read("") != len(program.rstrip()):
            return None
    except _InDoubtError:
        return None
    return list(found)


class _InDoubtError(Exception):
    """It cannot be told."""


class _Reader:
    """Goes through a program once; `found` gets the members."""

    def __init__(self, program: str, found: dict[str, None]) -> None:
        self._program = program.rstrip()
        self._found = found
        self._at = 0

    def _next(self) -> re.Match[str]:
        token = _TOKEN.match(self._program, self._at)
        if token is None:
            raise _InDoubtError
        return token

    def _is_at_end(self) -> bool:
        return self._at == len(self._program)

    def read(self, close: str) -> int:
        """Read up to the bracket that closes this level (empty: the end); return the place."""
        while True:
            self._read_operand()
            if self._is_at_end():
                if close:
                    raise _InDoubtError
                return self._at
            token = self._next()
            self._at = token.end()
            if token["close"]:
                if token["close"] != close:
                    raise _InDoubtError
                return self._at
            if token["pipe"]:
                return self._pass_over(close)
            if not token["operator"] and token["word"] not in _JOINS:
                raise _InDoubtError

    def _read_operand(self) -> None:
        token = self._next()
        self._at = token.end()
        if token["operator"] == "-":
            self._read_operand()
        elif token["name"]:
            self._found[token["name"][1:]] = None
            self._read_rest_of_path()
        elif token["open"]:
            self.read(_CLOSES[token["open"]])
            self._read_rest_of_path()
        elif not (token["text"] or token["number"] or token["word"] in _VALUES):
            raise _InDoubtError

    def _read_rest_of_path(self) -> None:
        """Read what follows a value: members of it, items by index or by slice, and `?`.

        A program in those brackets would read the input itself, so only literals are let through.
        """
        while token := _TOKEN.match(self._program, self._at):
            is_member = token["name"] and token[0] == token["name"]
            if not is_member and token["mark"] != "?" and token["open"] != "[":
                return
            self._at = token.end()
            if token["open"]:
                self._read_index()

    def _read_index(self) -> None:
        while (token := self._next())["close"] != "]":
            is_literal = token["number"] or token["text"] or token["operator"] == "-"
            if not is_literal and token["mark"] != ":":
                raise _InDoubtError
            self._at = token.end()
        self._at = token.end()

    def _pass_over(self, close: str) -> int:
        """Go to the bracket that closes this level, whatever stands before it."""
        opened: list[str] = []
        while not self._is_at_end():
            token = _TOKEN.match(self._program, self._at)
            if token is None:
                self._at += 1  # another sign: `{`, `@`, a single dot
                continue
            self._at = token.end()
            if token["open"]:
                opened.append(_CLOSES[token["open"]])
            elif token["close"] and opened:
                if opened.pop() != token["close"]:
                    raise _InDoubtError
            elif token["close"]:
                if token["close"] != close:
                    raise _InDoubtError
                return self._at
        if close or opened:
            raise _InDoubtError
        return self._at

"""What a jq program reads: never told too little, and told for what people ask most."""

import random
from typing import Any

import jq
import pytest

from journal.cli.jq_reads import members_read
from journal.cli.querying import predicate

TOLD = {
    ".round": ["round"],
    ".round >= 600": ["round"],
    ".a.b[0].c[-1]?[1:3]": ["a"],
    '.phase == "a \\"b\\" (c"': ["phase"],
    ".tasks | length > 10": ["tasks"],
    "(.tasks | length) > 10 and .done": ["tasks", "done"],
    "[.tasks[] | select(.done and .title)] | length == 2": ["tasks"],
    ".a // .b": ["a", "b"],
    "-.n < 3, .m": ["n", "m"],
    ".tasks | any(.done)": ["tasks"],
    '.a | "}" == ")" or (["("] | .[0])': ["a"],
}
NOT_TOLD = [
    *(".", "..", ".[]", '.["a"]', '."a"', "length", "keys", "not", ".tasks[.n]", "select(.a)"),
    *(".a as $x | .b", ". as [$x] | .a", ".a = 3", ".a |= 3", ".a += 3", ".a //= 3", "{a: .b}"),
    *("if .a then .b else . end", "try .a", "def f: .; f", '.a == "\\(.b)"', ".a # | .b", ".a .b"),
    *("any(.a[]; .)", "reduce .a[] as $x (.; .b)", ".a | .b), .c", "(.a", ".a]", "@json", ""),
    *("input", ".a and not", "$ENV.a", ". == .a", ".a == .", "[.]", "[.a, .[]]"),
]


@pytest.mark.parametrize(("program", "names"), TOLD.items(), ids=TOLD.keys())
def test_members_are_told_for_what_names_them(program: str, names: list[str]) -> None:
    jq.compile(program)
    assert members_read(program) == names


@pytest.mark.parametrize("program", NOT_TOLD)
def test_nothing_is_told_of_a_program_that_may_read_everything(program: str) -> None:
    assert members_read(program) is None


ATOMS = (
    *(".a", ".b", ".c", ".a.x", ".b[0]", ".c[]?", ".b[1:]", "1", '"x"', "null", "true"),
    *(".", "..", "length", "keys", "not", "select(.a)", "type", '.["a"]', ".[]?"),
)
JOINS = ("==", "<", "+", "and", "or", "//", ",", "|", "|=", "=", "as $v |")


def make_program(rnd: random.Random, depth: int) -> str:
    if depth == 0 or rnd.random() < 0.3:
        return rnd.choice(ATOMS)
    left, right = make_program(rnd, depth - 1), make_program(rnd, depth - 1)
    made = f"{left} {rnd.choice(JOINS)} {right}"
    return rnd.choice((made, made, f"({made})", f"[{made}]", f"-({made})", f"[{made}][0]"))


STATES: list[Any] = [
    {"a": 1, "b": [1, {"a": 2}], "c": {"a": 3, "b": None}, "d": {"a": True}},
    {"a": {"x": 1, "a": 2}, "b": None, "d": 4},
    {"b": "x", "c": [], "d": []},
    {"d": 1},
    {},
]


def results(program: str, state: Any) -> Any:
    try:
        return jq.compile(program).input_value(state).all()
    except ValueError:
        return "refused"


@pytest.mark.slow
def test_what_is_told_is_enough_for_random_programs() -> None:
    rnd = random.Random(9)
    told = 0
    for _ in range(900):
        program = make_program(rnd, 2)
        names = members_read(program)
        if names is None or results(program, STATES[0]) == "refused":
            continue
        told += 1
        for state in STATES:
            left = {name: value for name, value in state.items() if name in names}
            assert results(program, left) == results(program, state), (program, state)
    assert told > 50


def test_a_state_that_is_no_object_is_handed_over_whole() -> None:
    is_true, reads = predicate(".a? | not")
    assert reads == ["/a"]
    assert not is_true([1, 2])
    assert is_true({"b": 1})

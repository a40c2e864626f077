"""The state as the text that a model is given, within a budget of tokens.

    <task_state>
    {
      "checkpoints": [],
      "files": [],
      "data": {}
    }
    </task_state>

I1  A token is four UTF-16 units, the last one counted whole. A budget of 0 or less means the whole
    state: nothing is left out where nothing was asked for.
I2  While the text is over budget and checkpoints are left, the older half of them is left out, a
    middle one with it. Then the text is cut, between characters, and the closing tag is put back:
    with a budget of less than 4 tokens the tag alone is over it.
I3  The state itself is not changed.
"""

import orjson

from projections.task_state.states import BUDGET_MAX_TOKENS, Json

_UNITS_PER_TOKEN = 4
_CLOSING = "\n</task_state>"


def recall(state: Json, budget: int = BUDGET_MAX_TOKENS) -> str:
    """Return the text of a state within `budget` tokens (I1, I2)."""
    text = _render(state)
    if budget <= 0:
        return text
    checkpoints = state["checkpoints"]
    while count_tokens(text) > budget and checkpoints:
        checkpoints = checkpoints[(len(checkpoints) + 1) // 2 :]
        text = _render({**state, "checkpoints": checkpoints})
    if count_tokens(text) <= budget:
        return text
    return _cut(text, max(0, budget * _UNITS_PER_TOKEN - len(_CLOSING))) + _CLOSING


def count_tokens(text: str) -> int:
    """Return how many tokens a text takes (I1)."""
    return -(-_count_units(text) // _UNITS_PER_TOKEN)


def _render(state: Json) -> str:
    return f"<task_state>\n{orjson.dumps(state, option=orjson.OPT_INDENT_2).decode()}{_CLOSING}"


def _count_units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def _cut(text: str, units: int) -> str:
    """Return the first `units` UTF-16 units; a character that would be split is left out."""
    return text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore")

"""What events would make of a state, before anything is on disk.

I1  It refuses whatever an append would refuse: data that does not fit its class, and a result that
    breaks a rule.
"""

from collections.abc import Iterable

import msgspec

from journal import codec
from journal.event import Event
from projections.loop_plan.projection import PROJECTION
from projections.loop_plan.states import Json
from projections.typed_lines import event_type

_ANY_TIME = "2026-01-01T00:00:00.000Z"


def rehearse(state: Json, events: Iterable[msgspec.Struct]) -> Json:
    """Return what `state` would be after `events`; raises `UsageError` as an append would."""
    bodies = [
        codec.encode_body(
            Event(seq=seq, time=_ANY_TIME, type=event_type(type(event)), data=None),
            codec.encode_value(event),
        )
        for seq, event in enumerate(events, 1)
    ]
    if not bodies:
        return state
    lines = bytes(codec.seal(bodies, 0)[0])
    after: Json = PROJECTION.apply_new(state, PROJECTION.decode_new(lines))
    return after

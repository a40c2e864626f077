"""Pure functions on JSON values: pointers, patches, merges and the difference of two values.

    pointer.py      JSON Pointer (RFC 6901): parse, format, get
    value.py        strict equality, depth, copy
    operations.py   JSON Patch (RFC 6902): apply_patch; set_value and remove_value
    merge_patch.py  JSON Merge Patch (RFC 7396)
    align.py        which items of two lists belong together
    difference.py   diff and diff_with_old
    touching.py     which places a change can change, for who looks for changes

A JSON value is a dict with text keys, a list, str, int (-2**63 .. 2**64-1), finite float, bool or
None. Nothing here reads a clock, a file or the environment.
"""

from projections.patch.difference import diff, diff_with_old
from projections.patch.merge_patch import merge
from projections.patch.operations import apply_patch, remove_value, set_value
from projections.patch.pointer import format, get, parse
from projections.patch.value import MAX_DEPTH, Json, copy, depth, equal

__all__ = [
    "MAX_DEPTH",
    "Json",
    "apply_patch",
    "copy",
    "depth",
    "diff",
    "diff_with_old",
    "equal",
    "format",
    "get",
    "merge",
    "parse",
    "remove_value",
    "set_value",
]

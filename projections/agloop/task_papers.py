"""What an executor and a verifier hand in about a task, by the two schemas of the text.

I1  A paper is checked before it is recorded: each fault is named by its place.
I2  `verified` is the verifier's to set; FAIL needs `failure_details`.
"""

from typing import Any

from journal.errors import UsageError
from projections.agloop import shape
from projections.agloop.shape import TEXT, TRUTH, ListOf, Members, is_object

Json = dict[str, Any]

_RESULT = Members(
    {
        "files_modified": ListOf(TEXT),
        "files_deleted": ListOf(TEXT),
        "acceptance_criteria_confirmation": ListOf(
            Members({"criterion": TEXT, "met": TRUTH, "evidence": TEXT})
        ),
        "summary": TEXT,
        "warnings": ListOf(TEXT),
        "verified": TRUTH,
    }
)
_COMPLIANCE = Members({"compliant": TRUTH, "violations": ListOf(shape.ANY)})
_VERIFICATION = Members(
    {
        "verdict": shape.one_of("PASS", "FAIL"),
        "criteria_results": ListOf(
            Members({"criterion": TEXT, "result": shape.one_of("pass", "fail"), "evidence": TEXT})
        ),
        "specification_compliance": Members(
            {
                "required_patterns": _COMPLIANCE,
                "forbidden_patterns": _COMPLIANCE,
                "tech_choices": _COMPLIANCE,
            }
        ),
        "overall_summary": TEXT,
    }
)
_OBJECTION = Members(
    {"objection": shape.filled_text("a text that says what is objected to")},
    {
        "iteration": shape.integer(0),
        "response": shape.or_null(TEXT),
        "resolved": TRUTH,
        "objection_category": shape.or_null(TEXT),
        "severity": shape.or_null(TEXT),
    },
)


def check_result(result: Any) -> Json:
    """Return a task's result as it is recorded; raises `UsageError` (I1, I2)."""
    if is_object(result):
        result = {**result, "verified": result.get("verified", False)}
    shape.refuse(_RESULT, result, "the result")
    if result["verified"]:
        raise UsageError(
            "the result: verified is true; allowed: false, until the verifier passes the task",
            key="verified",
        )
    return dict(result)


def check_verification(verification: Any) -> Json:
    """Return a task's verification as it is recorded; raises `UsageError` (I1, I2)."""
    shape.refuse(_VERIFICATION, verification, "the verification")
    if verification["verdict"] == "FAIL" and not verification.get("failure_details"):
        raise UsageError(
            "the verification: verdict is FAIL and failure_details is missing; allowed: what "
            "exactly failed",
            key="failure_details",
        )
    return dict(verification)


def check_objection(objection: Any, iteration: int) -> Json:
    """Return an objection with all members of the text's table; raises `UsageError` (I1)."""
    shape.refuse(_OBJECTION, objection, "the objection")
    known = {
        "iteration": iteration,
        "objection": "",
        "response": None,
        "resolved": False,
        "objection_category": None,
        "severity": None,
    }
    return {**known, **objection}

"""The name of a plan."""

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal.errors import UsageError
from projections.loop_plan.slug import check_new_slug, check_slug, make_slug

FITTING = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@given(st.text(max_size=120))
def test_made_slug_is_always_one_that_could_be_given(statement: str) -> None:
    slug = make_slug(statement)
    assert FITTING.fullmatch(slug)
    assert len(slug) <= 40
    assert check_new_slug(slug) == check_slug(slug) == slug


@pytest.mark.parametrize(
    ("statement", "slug"),
    [
        ("Add offline caching", "add-offline-caching"),
        ("  --Fix: the  BUG #12!!", "fix-the-bug-12"),
        ("Größe ändern", "gr-e-ndern"),
        ("a" * 50, "a" * 40),
        ("x" * 39 + " yz", "x" * 39),
        ("y" * 38 + " zz", "y" * 38 + "-z"),
    ],
)
def test_slug_is_made_of_what_can_be_used(statement: str, slug: str) -> None:
    assert make_slug(statement) == slug


def test_statement_without_any_usable_character_gives_a_slug_of_its_hash() -> None:
    digest = hashlib.sha256("日本語".encode()).hexdigest()
    assert make_slug("日本語") == f"plan-{digest[:8]}"


@pytest.mark.parametrize(
    "slug", ["", "A", "a_b", "-a", "a-", "a--b", "a/b", "..", "a" * 41, "a.b", "ä"]
)
def test_given_slug_that_is_none_is_refused(slug: str) -> None:
    with pytest.raises(UsageError, match="slug"):
        check_new_slug(slug)


def test_refusal_of_a_slug_offers_one_that_fits() -> None:
    with pytest.raises(UsageError, match="'my-plan'"):
        check_new_slug("My Plan")


@pytest.mark.parametrize("slug", ["", ".", "..", "a/b", "a\\b", "a\0b", "../x", "a\nb"])
def test_name_that_would_leave_the_folder_is_refused(slug: str) -> None:
    with pytest.raises(UsageError, match="slug"):
        check_slug(slug)


@pytest.mark.parametrize("slug", ["Old_Plan", "a.b", "x" * 60])
def test_name_of_a_file_of_before_is_accepted_as_it_is(slug: str) -> None:
    assert check_slug(slug) == slug

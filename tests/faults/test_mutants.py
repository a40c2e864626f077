"""Mutants: known bugs switched on, each caught by a law."""

import contextlib

import pytest

from tests.faults.mutants import MUTANTS, Mutant
from tests.faults.quick import settings_parsed_once
from tests.faults.row import Violation
from tests.faults.row_mutants import catch
from tests.faults.tree import memory_folder


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_known_bug_is_caught(mutant: Mutant) -> None:
    with settings_parsed_once(), memory_folder() as folder:
        assert catch(mutant, folder)


def test_there_are_at_least_fifteen_known_bugs_and_each_has_a_name_of_its_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 15


@pytest.mark.slow
def test_bug_that_is_none_is_caught_by_nothing() -> None:
    harmless = Mutant("none", contextlib.nullcontext, ("first start",))
    with (
        settings_parsed_once(),
        memory_folder() as folder,
        pytest.raises(Violation, match="caught by nothing"),
    ):
        catch(harmless, folder, states=20)

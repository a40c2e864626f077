"""The set-up of a checkout: what it says to a machine that lacks something, when it runs again."""

import json
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from tests import checkout


def test_too_old_a_python_is_told_which_one_is_needed() -> None:
    said = checkout.machine_lacks(python=(3, 9), ensurepip=True)
    assert "needs Python 3.11 or newer" in said
    assert "is 3.9." in said


def test_a_debian_without_ensurepip_is_told_what_to_install() -> None:
    assert "python3-venv" in checkout.machine_lacks(python=(3, 11), ensurepip=False)


def test_a_machine_with_both_lacks_nothing() -> None:
    assert checkout.machine_lacks(python=(3, 11), ensurepip=True) == ""


@pytest.fixture
def steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A checkout in `tmp_path`, and what its set-up ran: `venv` or `pip EXTRAS`, in order."""
    ran: list[str] = []

    def make_or_install(command: list[str]) -> None:
        ran.append(f"{command[2]} {command[-1].removeprefix(str(tmp_path))}")
        python = tmp_path / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text("#!/bin/sh\n")
        python.chmod(0o755)

    (tmp_path / "pyproject.toml").write_text("[project]\n")
    monkeypatch.setattr(checkout, "step", make_or_install)
    return ran


def fail(*_: object) -> NoReturn:
    sys.exit(1)


MAKE, INSTALL, INSTALL_TEST = "venv /.venv", "pip ", "pip [test]"


def test_a_second_set_up_does_nothing_until_pyproject_changes(
    tmp_path: Path, steps: list[str]
) -> None:
    checkout.set_up(tmp_path, extras=["test"])
    assert steps == [MAKE, INSTALL_TEST]
    checkout.set_up(tmp_path, extras=["test"])
    checkout.set_up(tmp_path, extras=[])
    assert steps == [MAKE, INSTALL_TEST]
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    checkout.set_up(tmp_path, extras=[])
    assert steps == [MAKE, INSTALL_TEST, INSTALL_TEST], "an extra installed before stays"


def test_an_extra_asked_for_later_is_added(tmp_path: Path, steps: list[str]) -> None:
    checkout.set_up(tmp_path, extras=[])
    checkout.set_up(tmp_path, extras=["test"])
    assert steps == [MAKE, INSTALL, INSTALL_TEST]


def test_a_set_up_cut_off_starts_anew(
    tmp_path: Path, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as cut:
        cut.setattr(checkout, "install", fail)
        with pytest.raises(SystemExit):
            checkout.set_up(tmp_path, extras=[])
    checkout.set_up(tmp_path, extras=[])
    assert steps == [MAKE, MAKE, INSTALL]


@pytest.mark.parametrize("other", [{"root": "/elsewhere"}, {"python": "2.7"}])
def test_our_environment_of_another_path_or_python_is_made_anew(
    tmp_path: Path, steps: list[str], other: dict[str, str]
) -> None:
    checkout.set_up(tmp_path, extras=[])
    stamp = tmp_path / ".venv" / checkout.STAMP
    stamp.write_text(json.dumps({**json.loads(stamp.read_text()), **other}))
    (tmp_path / ".venv" / "left over").touch()
    checkout.set_up(tmp_path, extras=[])
    assert steps == [MAKE, INSTALL, MAKE, INSTALL]
    assert not (tmp_path / ".venv" / "left over").exists()


@pytest.mark.parametrize("cut_off", [False, True])
def test_an_environment_made_elsewhere_is_installed_into_and_never_emptied(
    tmp_path: Path, steps: list[str], monkeypatch: pytest.MonkeyPatch, cut_off: bool
) -> None:
    theirs = tmp_path / ".venv" / "theirs"
    theirs.parent.mkdir()
    theirs.touch()
    monkeypatch.setattr(checkout, "has_pip", Path.is_dir)
    if cut_off:
        with monkeypatch.context() as cut:
            cut.setattr(checkout, "step", fail)
            with pytest.raises(SystemExit):
                checkout.set_up(tmp_path, extras=[])
    checkout.set_up(tmp_path, extras=[])
    stamp = tmp_path / ".venv" / checkout.STAMP
    stamp.write_text(json.dumps({**json.loads(stamp.read_text()), "root": "/elsewhere"}))
    checkout.set_up(tmp_path, extras=[])
    stamp.write_text("")
    checkout.set_up(tmp_path, extras=[])
    assert steps == [INSTALL, INSTALL, INSTALL]
    assert theirs.exists()


def test_an_environment_made_elsewhere_without_pip_is_refused_by_name(
    tmp_path: Path, steps: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".venv").mkdir()
    with pytest.raises(SystemExit):
        checkout.set_up(tmp_path, extras=[])
    assert f"{tmp_path}/.venv was not made here" in capsys.readouterr().err
    assert steps == []

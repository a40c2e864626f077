"""The wheel: what ships, what stays at home, and that it installs where nothing else is.

One wheel is built from the checkout for all of them, with the builder that is installed.
"""

import email
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {"journal", "snapshots", "projections"}
DIST_INFO = "journal_engine-0.1.0.dist-info"


def run(*command: str | Path) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.slow
def test_exactly_the_three_packages_ship(names: set[str]) -> None:
    assert {name.split("/")[0] for name in names} == {*PACKAGES, DIST_INFO}


@pytest.mark.slow
def test_each_package_says_that_it_is_typed(names: set[str]) -> None:
    assert {f"{package}/py.typed" for package in PACKAGES} <= names


@pytest.mark.slow
def test_every_file_of_the_packages_ships(names: set[str]) -> None:
    here = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if not name.startswith(DIST_INFO)} == here


@pytest.mark.slow
def test_licence_command_and_dependencies_are_declared(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        licence = archive.read(f"{DIST_INFO}/licenses/LICENSE")
        commands = archive.read(f"{DIST_INFO}/entry_points.txt").decode()
        metadata = email.message_from_bytes(archive.read(f"{DIST_INFO}/METADATA"))
    assert licence == (ROOT / "LICENSE").read_bytes()
    assert commands.split() == ["[console_scripts]", "journal", "=", "journal.cli:main"]
    assert metadata["Requires-Python"] == ">=3.11"
    always = {r.split(">")[0] for r in metadata.get_all("Requires-Dist", []) if "extra" not in r}
    assert always == {"msgspec", "orjson", "pyyaml", "typer"}


@pytest.mark.slow
def test_the_wheel_installs_into_an_empty_environment_and_the_command_runs(
    wheel: Path, tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv", with_pip=True, symlinks=True)
    scripts = tmp_path / "venv" / "bin"
    pip = (scripts / "python", "-m", "pip", "--disable-pip-version-check", "--no-input")
    run(*pip, "install", "--quiet", wheel)
    run(*pip, "check")
    assert "Usage" in run(scripts / "journal", "--help")
    # -P: not from the checkout, which is the folder that this runs in.
    origin = run(scripts / "python", "-P", "-c", "import journal; print(journal.__file__)")
    assert Path(origin.strip()).is_relative_to(tmp_path)

"""`journal.yaml` is read by a plain reader where it is plain, and that one reads as YAML does."""

from pathlib import Path

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from journal import config
from journal.config import Config, SnapshotsConfig, ViewsConfig

WORDS = ["a", "id", "no", "on", "views", "x_y", "Null", "TRUE", "y", "os", "m:N", "a.b/c", "e:"]
SCALARS = [
    *WORDS,
    *("0", "7", "07", "0x1f", "1_000", "1:30", "-1", "+1", "4.0", "4.", ".5", "1e3", "1.0e3"),
    *(
        "{}",
        "[]",
        "~",
        "''",
        '"a"',
        "&a",
        "*a",
        "!x",
        "|",
        ">",
        "#",
        "a#b",
        "...",
        "---",
        "=",
        "<<",
    ),
    *(".inf", ".nan", "./a", "../a", ".agloop/s.json", "2026-03-01", "C:\\a", "a:", "a: b", "a b"),
    *("0" * 32, "1" * 31 + "e", "0b" + "01" * 15, "e" * 32, "1e" + "5" * 30, "0f" + "0" * 30),
]
line = st.builds(
    "{}{}:{}{}".format,
    st.sampled_from(["", "  ", "    ", " ", "\t", "- "]),
    st.sampled_from(WORDS),
    st.sampled_from(["", " ", "  "]),
    st.sampled_from(SCALARS) | st.just(""),
)
other = st.sampled_from(["", "# a comment", "  # another", "---", "a: 1 # note", "\u00e4: 1", "\0"])
text = st.lists(line | other, max_size=8).map(lambda lines: "".join(one + "\n" for one in lines))


@settings(max_examples=400, deadline=None)
@given(text)
def test_what_the_plain_reader_reads_yaml_reads_the_same(written: str) -> None:
    found = config.read_plain(written)
    if found is not None:
        assert repr(found) == repr(yaml.safe_load(written))


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(WORDS), st.sampled_from(SCALARS))
def test_one_scalar_is_read_as_yaml_does_or_left_to_it(key: str, value: str) -> None:
    written = f"{key}: {value}\n"
    found = config.read_plain(written)
    assert found is None or repr(found) == repr(yaml.safe_load(written))


def test_what_is_written_is_plain(tmp_path: Path) -> None:
    for settings_ in (
        Config(id="5f0c6e2b9d4a4c0f8a1b2c3d4e5f6071"),
        Config(
            id="0a" * 16,
            projection="package.module:NAME",
            views=ViewsConfig(every_ms=5, files={"state": ".agloop/state.json"}),
            snapshots=SnapshotsConfig(log_ratio=2.5, keep=10),
        ),
    ):
        config.write(tmp_path, settings_)
        written = (tmp_path / config.FILE_NAME).read_text()
        assert config.read_plain(written) == yaml.safe_load(written)
        assert config.read(tmp_path) == settings_


def test_a_setting_that_stands_twice_is_left_to_the_strict_reader() -> None:
    assert config.read_plain("id: abc\nid: abd\n") is None
    assert config.read_plain("views:\nid: abc\n") is None

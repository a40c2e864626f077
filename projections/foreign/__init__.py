"""The one strict reader of text that others wrote: adoption, takeover, import.

    reading.py     Reading and Mark: what a reader returns
    source.py      bytes -> text: encodings, conflict markers, places for messages
    json_text.py   read_json, read_jsonl
    yaml_text.py   read_yaml
    suffix.py      kind_of, read_document: by the suffix of the file's name

Whatever is wrong with the text comes as one class, `journal.errors.Corrupt`: with path, line,
offset in bytes, the reason, and what to do next. Nothing is guessed, nothing becomes a default.
"""

from projections.foreign.json_text import read_json, read_jsonl
from projections.foreign.reading import Mark, Reading
from projections.foreign.suffix import kind_of, read_document
from projections.foreign.yaml_text import read_yaml

__all__ = ["Mark", "Reading", "kind_of", "read_document", "read_json", "read_jsonl", "read_yaml"]

"""The built-in projection for any JSON document, and the way in and out for whole histories.

    projection.py    PROJECTION: the events set, remove, merge, patch, imported
    version.py       Version, Problem, Source: a history as it comes from elsewhere
    versions.py      read_versions: a file with one version a line
    git.py           read_git: the versions of one file in a git repository
    file.py          read_file: one file as it is now
    translation.py   one version -> one `imported` event
    recorded.py      what of a source the journal has already
    importing.py     import_versions
    report.py        ImportReport
    exporting.py     export_events, export_versions, write_versions

`projection.py` imports none of the others, so that its revision changes with the meaning of the
events alone.
"""

"""The events of a journal for other tools: one function a format, each `write(engine, out)`.

columns      what the columns are, in every format that has some
csv_rows     CSV (RFC 4180, but for LF as the line end)
parquet      Parquet, through the package pyarrow
cloudevents  CloudEvents 1.0, JSON, one a line

I1  Every good event of the stretch is written, in order; then damage in it is raised as `Corrupt`.
    Memory is bounded: events go through one by one, or in groups of bounded size.
I2  Nothing is lost but `part`, `unsynced` and `crc`, which say how a line was written: the value
    of `data` comes back equal from the JSON text that it is exported as.
"""

"""Snapshots: where the state stood at a seq, kept so that recovery and time travel fold little."""

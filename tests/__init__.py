"""The tests. `python3 tests` in a fresh checkout sets up what they need and runs them all."""

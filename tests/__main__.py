"""`python3 tests [PYTEST ARGUMENTS]`: set the checkout up, then run the tests in it.

Without arguments it is the whole suite, spread over the cores: every test has to pass beside
another one. With arguments it is pytest with these arguments, in one process.
Works on a machine that has Python and nothing else, so it imports the standard library only.
"""

import os
import sys

WHOLE_SUITE = ["-n", "auto", "--maxprocesses", "8", "--dist", "worksteal", "--durations", "10"]

if __name__ == "__main__":
    # `python3 tests` puts this folder first on the path, where the checkout has to be.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from tests import checkout

    os.chdir(checkout.ROOT)
    checkout.run(["python", "-m", "pytest", *(sys.argv[1:] or WHOLE_SUITE)], extra="test")

"""`python -m journal …` is the command `journal …`.

In a checkout where nothing is installed yet, `python3 journal …` is it too: run as a folder, this
file is in no package, so nothing of the engine is imported before the checkout has been set up.
"""

import os
import sys

if __package__:
    from journal.cli import main

    main()
else:
    # `python3 journal` puts this folder first on the path, where the checkout has to be.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from tests import checkout

    checkout.run(["journal", *sys.argv[1:]])

"""`python -m orchtw.commands.load`: runs `orch-load`."""

import sys

from orchtw.commands.load.command import main

sys.exit(main())

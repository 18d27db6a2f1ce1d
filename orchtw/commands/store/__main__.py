"""`python -m orchtw.commands.store`: the same as `orch-store`."""

import sys

from orchtw.commands.store.command import main

sys.exit(main())

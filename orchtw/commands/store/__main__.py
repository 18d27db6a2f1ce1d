"""`python -m orchtw.commands.store`: runs `orch-store`."""

import sys

from orchtw.commands.store.command import main

sys.exit(main())

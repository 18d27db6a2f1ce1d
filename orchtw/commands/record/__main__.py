"""`python -m orchtw.commands.record`: runs `orch-record`."""

import sys

from orchtw.commands.record.command import main

sys.exit(main())

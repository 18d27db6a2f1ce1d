"""Field sets that objects share: a check that nothing has modified one."""

from __future__ import annotations

import orjson
from twisted.trial.unittest import SynchronousTestCase

from orchtw.schema.codec.known_fields import KNOWN_FIELDS


def check_shared_sets(case: SynchronousTestCase) -> None:
    """Check that all shared field sets have the texts that they were parsed from."""
    for fields, text in list(KNOWN_FIELDS._texts.values()):
        case.assertEqual(orjson.dumps(fields), text)

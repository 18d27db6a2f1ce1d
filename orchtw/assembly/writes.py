"""What every write goes through, whoever makes it: admission, ownership of fields, stamps."""

from __future__ import annotations

import os
import time
from random import SystemRandom

from orchtw.admission.chain import Chain
from orchtw.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from orchtw.assembly.resources import Resources
from orchtw.registry.metadata import Stamp
from orchtw.registry.namespaces import Namespaces
from orchtw.registry.ownership import Ownership
from orchtw.registry.write_path import WritePath
from orchtw.rules.uuids import SIZE, uuid_text


def write_path(resources: Resources) -> WritePath:
    """The one loop that all writes go through."""
    stamp = Stamp(now=time.time, new_uid=lambda: uuid_text(os.urandom(SIZE)))
    ownership = Ownership(resources.targets, resources.naming)
    return WritePath(
        resources.store, _admission(resources), stamp, SystemRandom(), ownership, resources.offload
    )


def _admission(resources: Resources) -> Chain:
    """The admission plugins in their order."""
    lifecycle = NamespaceLifecycle(resources.naming, Namespaces(resources.targets).phase_of)
    return Chain([lifecycle])

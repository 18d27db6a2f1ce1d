"""Traits of a kind that need no code in a strategy; the defaults fit any kind.

Source: the strategies of release 1.24 (reference KIND-7, DEL-5, KIND-8, KIND-9).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import attrs
import msgspec

from orchtw.config.storage import StorageOptions
from orchtw.errors import Cause
from orchtw.naming.naming import Naming
from orchtw.registry.reservations import MakeReservations
from orchtw.schema.catalogue import ResourceType
from orchtw.schema.conversion.convert import SAME_FIELDS, Conversions
from orchtw.schema.tables.cells import Cells
from orchtw.values.names import SUBDOMAIN_NAME, NameForm
from orchtw.wire.objects import Object

Paths = tuple[tuple[str, ...], ...]
SPEC: Paths = (("spec",),)

SetDefaults = Callable[[Object], None]
"""Fills in the defaults of a canonical dict in place, in the version that it was sent in."""

Validate = Callable[[Object, Object | None, Naming], list[Cause]]
"""Returns the causes against creating an object or, given the old one, against the change."""


class Sent(msgspec.Struct, frozen=True):
    """A write as sent: the object in the version of `resource`, to a sub-resource ("": the main path)."""

    obj: Object
    resource: ResourceType
    subresource: str = ""


ValidateSent = Callable[[Object, Object | None, Sent, Naming], list[Cause]]
"""Returns causes, as Validate, that depend on the version in which the write was sent."""

Warn = Callable[[Object, Object | None, Naming], list[str]]
"""Returns warnings about an accepted first object: deprecated fields and values."""

ValidateStatus = Callable[[Object, Object, Naming], list[Cause]]
"""Returns the causes against a write to /status that makes the second object the first."""


@attrs.frozen(slots=True, kw_only=True)
class Traits:
    """Rules of one kind for the generic strategy, deletion, Tables and conversion.

    * `generation`: the paths that raise metadata.generation when they change; empty: it is 1 for ever; None: it is
      not tracked.
    * `create_on_update`: a PUT may create. `unconditional_update`: a PUT may leave out the resourceVersion.
    * `orphans_in`: the versions through which a deletion leaves dependents alone unless it says otherwise, of which
      `orphans_warning` warns the client.
    * `protected`: names of objects that are not deleted by name, each with the reason; collections of them are.
    * `collected`: the garbage collector has a say in its deletion; without, no policy sets its finalizers.
    * `status_ignores`: the paths that a write to /status leaves as they are, and so never owns.
    * `name_form`: of metadata.name. `free_finalizers`: finalizers without a domain may have any name.
    * `set_defaults`: what absent fields hold that no declared default can say.
    * `validate`: what a valid object is beyond the rules that its schema declares; `validate_status`: the same of a
      write to /status, on which the declared rules below `status` hold, and no others.
    * `validate_sent`: what else is asked in the version that an object was sent in, be it on the main path or a
      sub-resource: what the stored version cannot express, and what holds in some versions only.
    * `warn`: of deprecated fields and values, in creates and updates of the main path.
    * `reservations`: makes what keeps account of what objects take beyond themselves, such as addresses.
    * `ttl_s`: how long after their last write objects end by themselves; 0: they do not.
    * `json_kept`: the JSON of objects that are read from the store is kept, for it is asked for at once.
    * `conversions`: between the kind's versions. `cells`: of its rows in Tables; None: the default columns.
      `own_columns`: each version's columns say themselves what stands in them.
    """

    generation: Paths | None = None
    create_on_update: bool = False
    unconditional_update: bool = True
    orphans_in: tuple[str, ...] = ()
    orphans_warning: str = ""
    protected: Mapping[str, str] = MappingProxyType({})
    collected: bool = True
    status_ignores: tuple[str, ...] = ("spec",)
    name_form: NameForm = SUBDOMAIN_NAME
    free_finalizers: bool = False
    set_defaults: SetDefaults | None = None
    validate: Validate | None = None
    validate_status: ValidateStatus | None = None
    validate_sent: ValidateSent | None = None
    warn: Warn | None = None
    reservations: MakeReservations | None = None
    ttl_s: Callable[[StorageOptions], float] | None = None
    json_kept: bool = False
    conversions: Conversions = SAME_FIELDS
    cells: Cells | None = None
    own_columns: bool = False

    def changed(self, new: Object, old: Object) -> bool:
        """Report whether anything that counts for metadata.generation differs."""
        return any(_at(new, path) != _at(old, path) for path in self.generation or ())


GENERIC = Traits()
"""Traits of a kind without a record."""


def _at(obj: dict[str, Any], path: tuple[str, ...]) -> Any:
    value: Any = obj
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value

"""The flow schemas and priority levels of every installation, made and maintained (reference FLOW-7)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Final

from orchtw.bootstrap.ensurer import Ensurer, together
from orchtw.naming.naming import Naming
from orchtw.registry.groups.flowcontrol import mandatory, suggested
from orchtw.wire.objects import Object

GROUP: Final = "flowcontrol.apiserver.orch.io"
VERSION: Final = "v1beta2"
AUTOUPDATE: Final = "apf.orch.io/autoupdate-spec"

_LEVELS: Final = "prioritylevelconfigurations"
_SCHEMAS: Final = "flowschemas"


async def keep_flow_objects(ensurer: Ensurer) -> None:
    """Make missing objects, update those that follow the release, and remove those of older releases.

    Raises the store's errors.
    """
    for plural in (_LEVELS, _SCHEMAS):
        expected = dict(_specs(plural, ensurer.naming))
        await together(partial(_keep, ensurer, plural, name, spec) for name, spec in expected.items())
        stored = ensurer.targets.stored_target(ensurer.naming.group(GROUP), VERSION, plural).stored
        left = [entry.name for entry in stored.cache.snapshot() if entry.name not in expected]
        annotation = ensurer.naming.translate(AUTOUPDATE)

        def ours(obj: Object, annotation: str = annotation) -> bool:
            return _said(obj, annotation) == "true"

        for name in left:
            await ensurer.remove(GROUP, VERSION, plural, name, ours)


async def _keep(ensurer: Ensurer, plural: str, name: str, spec: Object) -> None:
    annotation = ensurer.naming.translate(AUTOUPDATE)
    obj = {"metadata": {"name": name, "annotations": {annotation: "true"}}, "spec": spec}
    fixed = name in mandatory.FLOW_SCHEMAS
    await ensurer.complete(GROUP, VERSION, plural, obj, partial(renewed, annotation=annotation, fixed=fixed))


def renewed(live: Object, expected: Object, *, annotation: str, fixed: bool) -> Object | None:
    """Return the updated object; None if nothing changes.

    Its annotation decides whether it follows the release. Without one, an unchanged object does, and gets the
    annotation. Mandatory objects always do.
    """
    said = _said(live, annotation)
    follows = fixed or (said == "true" if said in ("true", "false") else live["metadata"].get("generation", 1) <= 1)
    annotations = {**(live["metadata"].get("annotations") or {}), annotation: "true" if follows else "false"}
    wanted = {**live, "metadata": {**live["metadata"], "annotations": dict(sorted(annotations.items()))}}
    if follows:
        wanted["spec"] = expected["spec"]
    return None if wanted == live else wanted


def _said(obj: Object, annotation: str) -> str:
    said: str = (obj["metadata"].get("annotations") or {}).get(annotation, "")
    return said


def _specs(plural: str, naming: Naming) -> Iterator[tuple[str, Object]]:
    """Return names and specs of one kind; the mandatory ones come first."""
    if plural == _LEVELS:
        return chain(mandatory.PRIORITY_LEVELS.items(), suggested.PRIORITY_LEVELS.items())
    return chain(mandatory.FLOW_SCHEMAS.items(), suggested.flow_schemas(naming))

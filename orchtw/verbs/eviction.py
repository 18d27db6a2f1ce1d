"""POST on pods/eviction: a deletion that disruption budgets may refuse (reference KIND-23)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from orchtw.bootstrap.ensurer import system_user
from orchtw.errors import BadRequest, Cause, Conflict, Forbidden, InternalError, TooManyRequests
from orchtw.registry.target import Target
from orchtw.registry.write import Write
from orchtw.request import Response
from orchtw.rules.delete_options import DeleteOptions, delete_options
from orchtw.rules.selectors import selector_of_object
from orchtw.rules.write_options import create_options
from orchtw.verbs.call import VerbCall
from orchtw.verbs.context import Writing
from orchtw.verbs.get import find_most_recent
from orchtw.verbs.request_bodies import read
from orchtw.watch.entry import Entry
from orchtw.wire.objects import Object
from orchtw.writes.identity import check_namespace
from orchtw.writes.steps import MAX_ATTEMPTS

MAX_DISRUPTED_PODS = 2000
"""Most evictions that a budget's controller has not seen yet."""

_ALWAYS: Final = "AlwaysAllow"


async def evict(context: Writing, budgets: Target, call: VerbCall) -> Response:
    """Evict a pod: 201 and a Status once it is being deleted.

    Admission sees the creation of an Eviction, and neither the deletion nor the budget's use of its own. Raises
    NotFound (404), TooManyRequests (429, the budget is used up or not up to date), Forbidden (403, the budget is out
    of order), InternalError (500, more than one budget).
    """
    options = create_options(call.request.params, context.naming)
    eviction = {**await _read(context, call), "apiVersion": context.kinds.eviction.api_version}
    asked = call.submission("CREATE", eviction, options)
    eviction = await context.writes.permit(asked, context.kinds.eviction, partial(_check, call))
    how = delete_options({}, eviction.get("deleteOptions") or {}, context.naming)
    how = msgspec.structs.replace(how, dry_run=options.dry_run or how.dry_run)
    await _delete(context, budgets, call, how)
    status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return context.representations.obj(status, context.representations.untransformed(call.accept), 201)


async def _delete(context: Writing, budgets: Target, call: VerbCall, asked: DeleteOptions) -> None:
    """Delete the pod; one that costs its budget nothing only if unchanged, for it may have become healthy."""
    for _ in range(MAX_ATTEMPTS):
        entry, how = await find_most_recent(call), asked
        pod = call.target.load(entry)
        charged = _has_ended(pod) or (
            _phase(pod) != "Pending" and await _charge(context, budgets, call, pod, dry_run=asked.dry_run)
        )
        if not charged and asked.precondition_version is None:
            how = msgspec.structs.replace(asked, precondition_version=str(entry.revision))
        try:
            await context.deletion.delete(call.write(how, admitted=True), how)
            return
        except Conflict:
            if how is asked or asked.precondition_uid is not None:
                raise
    raise Conflict.modified("pods", "", call.info.name)


async def _read(context: Writing, call: VerbCall) -> Object:
    """Return the Eviction, sent in either of its versions."""
    versions = (context.kinds.older_eviction,)
    eviction = await read(context.offload, call.request, context.kinds.eviction, context.negotiator, versions)
    check_namespace(eviction, call.info.namespace)
    return eviction


def _check(call: VerbCall, eviction: Object) -> None:
    """Check an Eviction. Raises BadRequest (400) for another pod's, or one that contradicts the request's dry run."""
    if eviction["metadata"].get("name", call.info.name) != call.info.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    check_namespace(eviction, call.info.namespace)
    asked, given = call.request.params.get("dryRun"), (eviction.get("deleteOptions") or {}).get("dryRun")
    if asked and given and asked != given:
        lists = " and ".join(f"[{' '.join(each)}]" for each in (asked, given))
        why = f"Non-matching dry-run options in request and content: {lists}"
        raise BadRequest(f"invalid dryRun option: {why}")


def _has_ended(pod: Object) -> bool:
    return _phase(pod) in ("Succeeded", "Failed") or bool(pod["metadata"].get("deletionTimestamp"))


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


async def _charge(context: Writing, budgets: Target, call: VerbCall, pod: Object, *, dry_run: bool) -> bool:
    """Take one disruption from the pod's budget; returns whether the pod may go in any state.

    A budget is not charged for a pod that is not ready if it has enough healthy ones, or if its policy always lets
    such pods go.
    """
    labels = pod["metadata"].get("labels") or {}
    namespace = call.info.namespace
    present = budgets.stored.cache.snapshot(namespace)
    size = sum(len(entry.raw) for entry in present)
    found = await context.offload.run(size, lambda: [each for each in present if _selects(budgets, each, labels)])
    if not found:
        return True
    if len(found) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise InternalError(text)
    if not _is_ready(pod) and _spares_unready(budgets.stored.load(found[0])):
        return False
    write = Write(
        target=budgets,
        namespace=namespace,
        name=found[0].name,
        user=system_user(context.naming),
        subresource="status",
        dry_run=dry_run,
    )
    pod_name, now = call.info.name, context.writes.timestamp()

    def take(live: Object | None) -> Object:
        assert live is not None
        status = dict(live.get("status") or {})
        check_budget(live, status)
        status["disruptionsAllowed"] -= 1
        status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: now}
        return budgets.codec.normalise({**live, "status": status})

    await context.writes.update(write, take)
    return True


def _spares_unready(budget: Object) -> bool:
    if budget["spec"].get("unhealthyPodEvictionPolicy") == _ALWAYS:
        return True
    status: Mapping[str, int] = budget.get("status") or {}
    return status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0


def _selects(budgets: Target, budget: Entry, labels: Mapping[str, str]) -> bool:
    """Report whether a budget's selector matches; a malformed selector matches no pod."""
    try:
        return selector_of_object(budgets.stored.load(budget)["spec"].get("selector")).matches(labels)
    except BadRequest:
        return False


def check_budget(budget: Object, status: Object) -> None:
    """Check a budget with this status. Raises TooManyRequests (429) or Forbidden (403) if it allows no disruption."""
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        text = f"The disruption budget {name} is still being processed by the server."
        raise _refused(text, 10)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed < 0:
        raise Forbidden.of("poddisruptionbudgets", "policy", name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > MAX_DISRUPTED_PODS:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise Forbidden.of("poddisruptionbudgets", "policy", name, why)
    if allowed == 0:
        desired, current = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise _refused(f"The disruption budget {name} needs {desired} healthy pods and has {current} currently", 0)


def _refused(why: str, retry_after_s: int) -> TooManyRequests:
    cause = Cause("DisruptionBudget", why)
    details: Object = {"causes": [cause.to_json()]}
    if retry_after_s:
        details["retryAfterSeconds"] = retry_after_s
    return TooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", details)

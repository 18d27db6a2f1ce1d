"""POST on pods/eviction: a deletion that disruption budgets may refuse (reference KIND-23)."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from orchtw.errors import BadRequest, Cause, Forbidden, InternalError, TooManyRequests
from orchtw.objects import Object
from orchtw.registry.bootstrap.maker import system_user
from orchtw.registry.target import Target
from orchtw.registry.write import Write
from orchtw.request import Response
from orchtw.rules.options import create_options, delete_options
from orchtw.rules.selectors import selector_of_object
from orchtw.verbs.call import Call
from orchtw.verbs.context import Writing
from orchtw.verbs.get import find_most_recent
from orchtw.verbs.request_bodies import read
from orchtw.watch.entry import Entry

MAX_DISRUPTED_PODS = 2000
"""Evictions that a budget's controller has not yet seen, at the most."""

UNPROTECTED_PHASES = frozenset({"Pending", "Succeeded", "Failed"})


async def evict(context: Writing, budgets: Target, call: Call) -> Response:
    """201 and a Status once the pod is being deleted.

    Admission sees the creation of an Eviction, and neither the deletion nor the budget's use of its own.
    Raises NotFound (404), TooManyRequests (429, the budget is used up or not up to date), Forbidden (403, the
    budget is out of order), InternalError (500, more than one budget).
    """
    options = create_options(call.request.params, context.naming)
    eviction = {**await _read(context, call), "apiVersion": context.kinds.eviction.api_version}
    eviction = await context.writes.permit(call.submission("CREATE", eviction, options), context.kinds.eviction)
    how = delete_options({}, eviction.get("deleteOptions") or {}, context.naming)
    how = attrs.evolve(how, dry_run=options.dry_run or how.dry_run)
    pod = call.target.load(await find_most_recent(call))
    if not _unprotected(pod):
        await _charge(context, budgets, call, pod, dry_run=how.dry_run)
    await context.deletion.delete(call.write(how, admitted=True), how)
    status: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    return context.representations.obj(status, context.representations.untransformed(call.accept), 201)


async def _read(context: Writing, call: Call) -> Object:
    """The Eviction, in either of its versions."""
    versions = (context.kinds.older_eviction,)
    eviction = await read(context.offload, call.request, context.kinds.eviction, context.negotiator, versions)
    if eviction["metadata"].get("name", call.info.name) != call.info.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    asked, given = call.request.params.get("dryRun"), (eviction.get("deleteOptions") or {}).get("dryRun")
    if asked and given and asked != given:
        lists = " and ".join(f"[{' '.join(each)}]" for each in (asked, given))
        why = f"Non-matching dry-run options in request and content: {lists}"
        raise BadRequest(f"invalid dryRun option: {why}")
    return eviction


def _unprotected(pod: Object) -> bool:
    return pod.get("status", {}).get("phase") in UNPROTECTED_PHASES or bool(pod["metadata"].get("deletionTimestamp"))


async def _charge(context: Writing, budgets: Target, call: Call, pod: Object, *, dry_run: bool) -> None:
    """Take one disruption from the pod's budget, if it has one."""
    labels = pod["metadata"].get("labels") or {}
    namespace = call.info.namespace
    present = budgets.stored.cache.snapshot(namespace)
    size = sum(len(entry.raw) for entry in present)
    found = await context.offload.run(size, lambda: [each for each in present if _selects(budgets, each, labels)])
    if not found:
        return
    if len(found) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise InternalError(text)
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
        _check_budget(live, status)
        status["disruptionsAllowed"] -= 1
        status["disruptedPods"] = {**(status.get("disruptedPods") or {}), pod_name: now}
        return budgets.codec.normalise({**live, "status": status})

    await context.writes.update(write, take)


def _selects(budgets: Target, budget: Entry, labels: Mapping[str, str]) -> bool:
    """Whether a budget's selector matches; one that means nothing matches no pod."""
    try:
        return selector_of_object(budgets.stored.load(budget)["spec"].get("selector")).matches(labels)
    except BadRequest:
        return False


def _check_budget(budget: Object, status: Object) -> None:
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

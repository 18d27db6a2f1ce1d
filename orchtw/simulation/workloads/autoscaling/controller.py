"""Controller of HorizontalPodAutoscalers (reference SIM-53)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchtw.client.interface import Item
from orchtw.client.work_queue import Retry
from orchtw.controllers.controller import WorkSource
from orchtw.errors import Conflict, NotFound, StatusError
from orchtw.registry.groups.autoscaling.validation import as_hub
from orchtw.rules.selectors import parse_labels
from orchtw.schema.conversion.autoscaling import autoscaler_v2_to_v1
from orchtw.simulation.controller import SimulatedController
from orchtw.simulation.usage.usage import scaled
from orchtw.simulation.workloads.autoscaling.decision import Assessment, decide
from orchtw.simulation.workloads.autoscaling.limits import History, limited
from orchtw.simulation.workloads.autoscaling.metrics import Scene
from orchtw.simulation.workloads.autoscaling.proposals import TOLERANCE, Tolerance
from orchtw.simulation.workloads.autoscaling.samples import MILLI
from orchtw.simulation.workloads.autoscaling.status import Report
from orchtw.simulation.workloads.conditions import same
from orchtw.simulation.workloads.owners import by_namespace
from orchtw.simulation.workloads.pods import Pods
from orchtw.simulation.workloads.scale import Scaled, Scaler
from orchtw.simulation.workloads.workload import NORMAL, WARNING
from orchtw.simulation.world import World
from orchtw.values.times import rfc3339
from orchtw.wire.objects import Object

PERIOD_S: Final = 15.0
TOLERANCE_GATE: Final = "HPAConfigurableTolerance"


class AutoscalerController(SimulatedController):
    """horizontalpodautoscaling controller, keyed by autoscaler."""

    name = "horizontalpodautoscaling"
    account = "horizontal-pod-autoscaler"
    component = "horizontal-pod-autoscaler"

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._autoscalers = world.informer("autoscaling", "horizontalpodautoscalers")
        self._pods = world.shared(Pods)
        self._in_namespace = self._pods.informer.index("namespace", by_namespace)
        self._scaler = Scaler(self.client, self.naming)
        self._histories: dict[str, History] = {}
        self._has_tolerance = world.enabled(TOLERANCE_GATE)
        self._autoscalers.handle(self._seen)

    @property
    def sources(self) -> Sequence[WorkSource]:
        """Return the informers of pods and autoscalers."""
        return (self._pods.informer, self._autoscalers)

    async def sync(self, key: str) -> float | None:
        """Scale the target of one autoscaler, as `SimulatedController.sync`."""
        if not self.synced:
            raise Retry("not all informers have listed")
        stored = self._autoscalers.get(key)
        if stored is None:
            return None
        autoscaler = as_hub(stored, self.naming)
        report = Report(autoscaler, self.clock.now())
        await self._scale(key, autoscaler, report)
        await self._write(autoscaler, report.status)
        return PERIOD_S

    async def _scale(self, key: str, autoscaler: Object, report: Report) -> None:
        meta, target = autoscaler["metadata"], autoscaler["spec"]["scaleTargetRef"]
        resource = self.client.resource_of(target.get("apiVersion") or "v1", target["kind"])
        try:
            if resource is None:
                raise NotFound(f'no matches for kind "{target["kind"]}" in group "{target.get("apiVersion", "")}"')
            scale = await self._scaler.read(resource, meta["namespace"], target["name"])
        except (StatusError, KeyError) as error:
            await self._tell(autoscaler, WARNING, "FailedGetScale", str(error))
            text = f"the HPA controller was unable to get the target's current scale: {error}"
            report.condition("AbleToScale", False, "FailedGetScale", text)
            return
        text = "the HPA controller was able to get the target's current scale"
        report.condition("AbleToScale", True, "SucceededGetScale", text)
        current = scale.replicas
        history = self._histories.setdefault(key, History(current, self.clock.now()))
        desired, reason = await self._desired(autoscaler, scale, history, report)
        if desired != current:
            if await self._resize(autoscaler, scale, desired, reason, report):
                history.changed(desired - current, self.clock.now())
            else:
                desired = current
        report.replicas(current, desired)

    async def _desired(
        self, autoscaler: Object, scale: Scaled, history: History, report: Report
    ) -> tuple[int, str]:
        """Return the number of replicas to be had, and why."""
        spec, current = autoscaler["spec"], scale.replicas
        least, most = spec.get("minReplicas", 1), spec["maxReplicas"]
        if not current and least:
            text = "scaling is disabled since the replica count of the target is zero"
            report.condition("ScalingActive", False, "ScalingDisabled", text)
            return 0, ""
        if current > most:
            return most, "Current number of replicas above Spec.MaxReplicas"
        if current < least:
            return least, "Current number of replicas below Spec.MinReplicas"
        decision = await self._decide(autoscaler, scale, report)
        if decision is None or decision.proposal is None:
            return current, ""
        wanted = decision.proposal.replicas
        found = limited(spec, history, current, wanted, self.clock.now())
        report.condition("AbleToScale", True, *found.able)
        report.condition("ScalingLimited", found.limited, *found.limit)
        if wanted > current:
            return found.replicas, f"{decision.proposal.name} above target"
        return found.replicas, "All metrics below target" if wanted < current else ""

    async def _decide(self, autoscaler: Object, scale: Scaled, report: Report) -> Assessment | None:
        """Return what the metrics come to, with the condition and events about it; None without a selector."""
        if not scale.selector:
            await self._tell(autoscaler, WARNING, "SelectorRequired", "selector is required")
            report.condition(
                "ScalingActive", False, "InvalidSelector", "the HPA target's scale is missing a selector"
            )
            return None
        decision = decide(autoscaler["spec"].get("metrics") or (), self._scene(autoscaler, scale))
        report.metrics(decision.current)
        for failure in decision.failures:
            await self._tell(autoscaler, WARNING, failure.reason, str(failure))
        if decision.proposal is None and decision.failures:
            first = decision.failures[0]
            await self._tell(autoscaler, WARNING, "FailedComputeMetricsReplicas", decision.summary)
            text = f"the HPA was unable to compute the replica count: {first}"
            report.condition("ScalingActive", False, first.reason, text)
        elif decision.proposal is not None:
            text = f"the HPA was able to successfully calculate a replica count from {decision.proposal.name}"
            report.condition("ScalingActive", True, "ValidMetricFound", text)
        return decision

    def _scene(self, autoscaler: Object, scale: Scaled) -> Scene:
        labels = parse_labels(scale.selector)
        keys = self._in_namespace.keys(autoscaler["metadata"]["namespace"])
        views = [pod for key in keys if (pod := self._pods.get(key)) is not None and labels.matches(pod.labels)]
        return Scene(
            pods=tuple(self._pods.objects(views)),
            current=scale.replicas,
            notes=autoscaler["metadata"].get("annotations") or {},
            tolerance=self._tolerance(autoscaler["spec"].get("behavior") or {}),
            now=self.clock.now(),
            measured=self.world.setting.parts.nodes is not None,
            naming=self.naming,
        )

    def _tolerance(self, behavior: Object) -> Tolerance:
        if not self._has_tolerance:
            return Tolerance()
        texts = ((behavior.get(name) or {}).get("tolerance") for name in ("scaleUp", "scaleDown"))
        return Tolerance(*(TOLERANCE if text is None else scaled(text, MILLI) / 1000 for text in texts))

    async def _resize(self, autoscaler: Object, scale: Scaled, desired: int, reason: str, report: Report) -> bool:
        """Write the scale of the target; report whether that was possible. Raises Conflict (409)."""
        size = f"New size: {desired}; reason: {reason}"
        try:
            await self._scaler.write(scale, desired)
        except Conflict:
            raise
        except StatusError as error:
            await self._tell(autoscaler, WARNING, "FailedRescale", f"{size}; error: {error}")
            text = f"the HPA controller was unable to update the target scale: {error}"
            report.condition("AbleToScale", False, "FailedUpdateScale", text)
            return False
        text = f"the HPA controller was able to update the target scale to {desired}"
        report.condition("AbleToScale", True, "SucceededRescale", text)
        report.status["lastScaleTime"] = rfc3339(int(self.clock.now()))
        await self._tell(autoscaler, NORMAL, "SuccessfulRescale", size)
        return True

    async def _write(self, autoscaler: Object, status: Object) -> None:
        if same(autoscaler.get("status") or {}, status):
            return
        meta = autoscaler["metadata"]
        older = autoscaler_v2_to_v1({**autoscaler, "status": status}, self.naming)
        changed = {**older, "apiVersion": self._autoscalers.resource.api_version}
        try:
            written = await self.client.update(
                self._autoscalers.resource, meta["namespace"], meta["name"], changed, "status"
            )
        except NotFound:
            return
        await self._autoscalers.seen(written)

    async def _tell(self, autoscaler: Object, event_type: str, reason: str, message: str) -> None:
        about = self.reference(autoscaler, "autoscaling/v2", "HorizontalPodAutoscaler")
        await self.events.record(about, event_type, reason, message)

    def _seen(self, old: Item | None, new: Item | None) -> None:
        if new is None:
            if old is not None:
                self._histories.pop(old.key, None)
            return
        after = self._autoscalers.load(new)
        before = None if old is None else self._autoscalers.load(old)
        if before is None or self._asked(before) != self._asked(after):
            self.queue.add(new.key)

    def _asked(self, stored: Object) -> tuple[object, object]:
        """Return what users write of an autoscaler; the version in store has parts of the status in annotations."""
        autoscaler = as_hub(stored, self.naming)
        return autoscaler["spec"], autoscaler["metadata"].get("annotations")

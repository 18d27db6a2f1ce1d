"""One simulated pod: what happens to it until a given time, pure of any clock (reference SIM-20)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from orchtw.simulation.pods.container_run import CRASH_LOOP, ENDED, RUNNING, WAITING, ContainerRun
from orchtw.simulation.pods.plans import ALWAYS, EPHEMERAL, FOREVER, INIT, MAIN, NEVER, SIDECAR, RunPlan, plan, roles
from orchtw.values.times import parse_time
from orchtw.wire.objects import Object

POLL_S: Final = 1.0
"""Time after which a missing Secret or ConfigMap is looked for again."""
PULL_S: Final = 10.0
MOST_PULL_S: Final = 300.0
"""First and longest delay of another attempt to pull an image."""
PROBE_FAILS: Final = "Readiness probe failed: HTTP probe failed with statuscode: 404"
DEADLINE: Final = "Pod was active on the node longer than the specified deadline"
_KILLED: Final = 137
_TERMINATED: Final = 143
_STEPS: Final = 10_000
_CREATING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
_STARTED_ROLES: Final = {INIT: "spec.initContainers", SIDECAR: "spec.initContainers", MAIN: "spec.containers"}


class Happening(msgspec.Struct, frozen=True):
    """An event to report; `field` is the path of a container, empty for the pod."""

    type: str
    reason: str
    message: str
    field: str = ""


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Objects that a pod refers to and that are not there: messages, of volumes and by container."""

    volumes: str = ""
    containers: dict[str, str] = {}


NOTHING_MISSING: Final = Missing()


class PodRun:
    """A pod from its binding to its end; `advance` lets the time pass, `happenings` are what to report of it.

    `due` is the time of the next change. Times are seconds since the epoch.
    """

    def __init__(self, pod: Object, now: float) -> None:
        meta, status = pod["metadata"], pod.get("status") or {}
        self.uid: str = meta["uid"]
        self.name = f"{meta['name']}_{meta['namespace']}({self.uid})"
        self.started_at = _seconds(status.get("startTime"), now)
        self.reason: str = status.get("reason", "")
        self.message: str = status.get("message", "")
        self.killed_at: float | None = None
        self.grace_s = 0.0
        self.deleting = False
        self.failed = status.get("phase") == "Failed" and bool(self.reason)
        self.missing = NOTHING_MISSING
        self.happenings: list[Happening] = []
        self.runs: dict[str, ContainerRun] = {}
        self._image_pulls: dict[str, str] = {}
        self._ending_sidecar = ""
        self._now = now
        self._read(pod, now, restored=True)

    @property
    def due(self) -> float:
        """Time of the next change, or infinity if the pod does not change by itself."""
        return min([self._deadline_due(), *(run.next_due(self._now) for run in self.runs.values())])

    @property
    def is_over(self) -> bool:
        """Report whether no container runs any more, or will."""
        if self.killed_at is not None:
            return all(run.state != RUNNING for run in self.runs.values())
        return all(run.is_done for run in self.of(MAIN)) and not any(
            run.state == RUNNING for run in self.runs.values()
        )

    @property
    def has_address(self) -> bool:
        """Report whether a container has started, for which the pod has got its address."""
        return any(run.state != WAITING or run.last is not None for run in self.runs.values())

    def of(self, *wanted: str) -> list[ContainerRun]:
        """Return the containers of these roles, in their order."""
        return [run for run in self.runs.values() if run.plan.role in wanted]

    def reject(self, reason: str, message: str) -> None:
        """Fail before any container starts: the node does not admit the pod."""
        self.failed, self.reason, self.message = True, reason, f"Pod {message}"
        self.happenings.append(Happening("Warning", reason, message))
        for run in self.runs.values():
            run.due = FOREVER

    def take(self, pod: Object, now: float) -> None:
        """Take in a changed pod: annotations, images, ephemeral containers, its deletion."""
        self._read(pod, now, restored=False)

    def needs_references(self, now: float) -> bool:
        """Report whether a container is about to start for the first time: `missing` is to be filled in."""
        return any(run.state == WAITING and run.last is None and run.due <= now for run in self.runs.values())

    def advance(self, now: float) -> None:
        """Let everything happen that is due by `now`, in order."""
        settled = False
        for _ in range(_STEPS):
            at = self.due
            if at > now and settled:
                break
            # What follows a step counts from that step, not from when we are called.
            settled = at > now
            self._now = max(self._now, min(at, now))
            self._pass()
            self._plan_next(self._now)

    def _pass(self) -> None:
        """Do what is due at this moment."""
        if self._deadline_due() <= self._now:
            self._expire()
        for run in self.runs.values():
            if run.due <= self._now:
                self._move(run)

    def _read(self, pod: Object, now: float, *, restored: bool) -> None:
        spec, status = pod["spec"], pod.get("status") or {}
        self._deadline_s = spec.get("activeDeadlineSeconds")
        self._spec_grace_s = float(spec.get("terminationGracePeriodSeconds") or 0)
        self._policy = spec.get("restartPolicy") or ALWAYS
        for role, container in roles(spec):
            name, made = container["name"], plan(pod, container, role, self.started_at)
            run = self.runs.get(name)
            if run is None:
                self.runs[name] = run = ContainerRun(name, container["image"], self.uid, made)
                stored = _stored(status, role, name)
                if restored and stored is not None:
                    run.restore(stored)
                if not run.begun and run.due == FOREVER:
                    self._wait_for_turn(run)
                self.happenings += [Happening("Warning", "InvalidAnnotation", text) for text in made.problems]
            elif run.plan != made or run.image != container["image"]:
                self._replan(run, made, container["image"], now)
        self._image_pulls = {each["name"]: each.get("imagePullPolicy", "") for _, each in roles(spec)}
        if pod["metadata"].get("deletionTimestamp"):
            self._delete(float(pod["metadata"].get("deletionGracePeriodSeconds") or 0), now)

    def _replan(self, run: ContainerRun, made: RunPlan, image: str, now: float) -> None:
        problems = set(made.problems) - set(run.plan.problems)
        self.happenings += [Happening("Warning", "InvalidAnnotation", text) for text in sorted(problems)]
        changed = run.image != image
        if made.probe_fails and not run.plan.probe_fails and run.state == RUNNING:
            self._report("Warning", "Unhealthy", PROBE_FAILS, run)
        run.plan, run.image = made, image
        if changed:
            run.backoff_s = 0.0
            if run.state == WAITING and run.last is not None and self.killed_at is None:
                run.due = now
        if run.state == RUNNING and self.killed_at is None:
            if changed:
                self._report("Normal", "Killing", f"Container {run.name} definition changed, will be restarted", run)
                run.end(now, 0, "Completed", stays=False)
            else:
                run.due = max(now, run.started_at + run.plan.ending(run.restarts).after_s)
        elif run.state == WAITING and run.last is None and run.due != FOREVER:
            run.due = min(run.due, now + run.plan.start_s)

    # Transitions

    def _plan_next(self, now: float) -> None:
        """Let those containers begin whose turn it is, or end when the others have."""
        if self.killed_at is not None:
            self._end_sidecars(now)
            return
        if self.failed:
            return
        initialised = any(run.begun for run in self.of(MAIN))
        for run in self.of(INIT, SIDECAR):
            if run.state == WAITING:
                self._schedule(run, now)
            if run.plan.role == INIT and run.is_done and run.code:
                self._kill(now, 0.0)
                return
            if not (initialised or (run.has_succeeded if run.plan.role == INIT else run.is_started(now))):
                return
        for run in self.of(MAIN, EPHEMERAL):
            if run.state == WAITING:
                self._schedule(run, now)
        if all(run.is_done for run in self.of(MAIN)):
            self._end_sidecars(now)

    def _schedule(self, run: ContainerRun, now: float) -> None:
        if run.due == FOREVER:
            run.due = now + (run.plan.start_s if run.reason in _CREATING else POLL_S)

    def _end_sidecars(self, now: float) -> None:
        """End the last sidecar that runs, once all other containers have ended; ephemeral ones come first."""
        if any(run.state == RUNNING for run in self.of(MAIN, INIT)):
            return
        for run in reversed(self.of(SIDECAR, EPHEMERAL)):
            if run.state == RUNNING:
                left_s = FOREVER if self.killed_at is None else max(0.0, self.killed_at + self.grace_s - now)
                run.due = min(run.due, now + min(run.plan.termination_s, left_s))
                self._ending_sidecar = run.name
                return
            if run.state == ENDED:
                run.due = FOREVER

    def _move(self, run: ContainerRun) -> None:
        now = self._now
        if run.state == RUNNING:
            self._end(run, now)
        elif run.state == ENDED:
            run.begin_again(self.name, now)
            if run.reason == CRASH_LOOP:
                self._report("Warning", "BackOff", "Back-off restarting failed container", run)
        elif self.killed_at is not None:
            run.due = FOREVER
        elif not self._is_blocked(run, now):
            self._started(run, now)

    def _end(self, run: ContainerRun, now: float) -> None:
        stopping = self.killed_at is not None or run.name == self._ending_sidecar
        if not stopping:
            ending = run.plan.ending(run.restarts)
            if ending.probe:
                self._report("Warning", "Unhealthy", f"{ending.probe} probe failed: ", run)
                why = f"Container {run.name} failed {ending.probe.lower()} probe, will be restarted"
                self._report("Normal", "Killing", why, run)
            run.end(now, ending.code, ending.reason, stays=False, message=ending.message)
            return
        late = self.killed_at is not None and run.plan.termination_s > self.grace_s
        code = _KILLED if late else 0 if self._policy == ALWAYS or run.plan.role == SIDECAR else _TERMINATED
        run.end(now, code, "Error" if code else "Completed", stays=True)

    def _started(self, run: ContainerRun, now: float) -> None:
        run.start(now)
        image = run.image
        if self._image_pulls.get(run.name) == "Always":
            self._report("Normal", "Pulling", f'Pulling image "{image}"', run)
            self._report("Normal", "Pulled", f'Successfully pulled image "{image}"', run)
        else:
            self._report("Normal", "Pulled", f'Container image "{image}" already present on machine', run)
        self._report("Normal", "Created", f"Created container {run.name}", run)
        self._report("Normal", "Started", f"Started container {run.name}", run)
        if run.plan.wishes.never_ready:
            self._report("Warning", "Unhealthy", "Readiness probe failed: the pod's annotation says so", run)

    def _is_blocked(self, run: ContainerRun, now: float) -> bool:
        """Report whether the container cannot start now; it then waits for another attempt."""
        if self.missing.volumes and run.last is None:
            self.happenings.append(Happening("Warning", "FailedMount", self.missing.volumes))
            run.due = now + POLL_S
            return True
        if run.plan.image_error:
            self._fail_pull(run, now)
            return True
        if why := self.missing.containers.get(run.name):
            self._report("Warning", "Failed", f"Error: {why}", run)
            run.wait("CreateContainerConfigError", why, now + POLL_S)
            return True
        return False

    def _fail_pull(self, run: ContainerRun, now: float) -> None:
        image = run.image
        if run.reason == "ErrImagePull":
            self._report("Normal", "BackOff", f'Back-off pulling image "{image}"', run)
            self._report("Warning", "Failed", "Error: ImagePullBackOff", run)
            delay_s = min(PULL_S * 2.0 ** min(max(run.retries - 1, 0), 8), MOST_PULL_S)
            run.wait("ImagePullBackOff", f'Back-off pulling image "{image}"', now + delay_s)
            return
        run.retries += 1
        why = f'failed to pull image "{image}": {run.plan.image_error}'
        self._report("Normal", "Pulling", f'Pulling image "{image}"', run)
        self._report("Warning", "Failed", f'Failed to pull image "{image}": {run.plan.image_error}', run)
        self._report("Warning", "Failed", "Error: ErrImagePull", run)
        run.wait("ErrImagePull", why, now + POLL_S)

    def _wait_for_turn(self, run: ContainerRun) -> None:
        if not run.reason:
            behind = run.plan.role != EPHEMERAL and self.of(INIT, SIDECAR)
            run.wait("PodInitializing" if behind else "ContainerCreating")

    # The end

    def _delete(self, grace_s: float, now: float) -> None:
        if self.deleting and grace_s >= self.grace_s:
            return
        self.deleting = True
        self._kill(now, grace_s)

    def _expire(self) -> None:
        self.failed, self.reason, self.message = True, "DeadlineExceeded", DEADLINE
        self.happenings.append(Happening("Normal", "DeadlineExceeded", DEADLINE))
        self._kill(self._now, self._spec_grace_s)

    def _deadline_due(self) -> float:
        if self._deadline_s is None or self.killed_at is not None or self.failed or self.is_over:
            return FOREVER
        return self.started_at + float(self._deadline_s)

    def _kill(self, now: float, grace_s: float) -> None:
        """Ask all containers to end within the grace period, sidecars after the others."""
        first = self.killed_at is None
        self.killed_at, self.grace_s = now if first else self.killed_at, grace_s
        for run in self.runs.values():
            if run.state != RUNNING:
                run.due = FOREVER
                continue
            if first:
                self._report("Normal", "Killing", f"Stopping container {run.name}", run)
            if run.plan.role != SIDECAR:
                run.due = min(run.due, now + min(run.plan.termination_s, grace_s))
        if first:
            for run in self.of(SIDECAR):
                run.due = FOREVER
        self._end_sidecars(now)

    def _report(self, event_type: str, reason: str, message: str, run: ContainerRun) -> None:
        where = _STARTED_ROLES.get(run.plan.role, "spec.ephemeralContainers")
        self.happenings.append(Happening(event_type, reason, message, f"{where}{{{run.name}}}"))

    def phase(self) -> str:
        """Return the pod's phase."""
        if self.failed:
            return "Failed"
        mains = self.of(MAIN)
        if any(run.is_done and run.code for run in self.of(INIT)) and self._policy == NEVER:
            return "Failed"
        if any(not run.begun for run in mains):
            return "Pending"
        if not self.is_over or self._policy == ALWAYS:
            return "Running"
        return "Failed" if any(run.code for run in mains) else "Succeeded"


def _stored(status: Object, role: str, name: str) -> Object | None:
    statuses: Sequence[Object] = status.get(STATUSES[role]) or ()
    return next((each for each in statuses if each.get("name") == name), None)


STATUSES: Final = {
    INIT: "initContainerStatuses",
    SIDECAR: "initContainerStatuses",
    MAIN: "containerStatuses",
    EPHEMERAL: "ephemeralContainerStatuses",
}


def _seconds(text: str | None, default: float) -> float:
    return float(parse_time(text)[0]) if text else default

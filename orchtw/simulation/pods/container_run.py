"""One container of a simulated pod: its state, and the way from one to the next (reference SIM-20)."""

from __future__ import annotations

import hashlib
from typing import Final

import attrs

from orchtw.simulation.pods.plans import EPHEMERAL, FOREVER, INIT, RunPlan
from orchtw.values.times import duration_text, parse_time, rfc3339
from orchtw.wire.objects import Object

WAITING, RUNNING, ENDED = "waiting", "running", "terminated"

FIRST_BACKOFF_S: Final = 10.0
MOST_BACKOFF_S: Final = 300.0
STABLE_S: Final = 600.0
"""A run this long is a success: the next failure counts as the first."""
RESTART_S: Final = 1.0
"""Time in which an agent notices the end of a container."""
CRASH_LOOP: Final = "CrashLoopBackOff"
RUNTIME: Final = "simulated"


@attrs.define(slots=True, eq=False)
class ContainerRun:
    """State of a container. `due` is the time of its next transition, or infinity if it does not change by itself.

    `reason` and `message` are those of a container that waits, or has ended. Times are seconds since the epoch.
    """

    name: str
    image: str
    uid: str
    plan: RunPlan
    state: str = WAITING
    reason: str = ""
    message: str = ""
    due: float = FOREVER
    started_at: float = 0.0
    ended_at: float = 0.0
    code: int = 0
    restarts: int = 0
    backoff_s: float = 0.0
    last: Object | None = None
    retries: int = 0
    """Failed attempts to pull its image."""

    @property
    def begun(self) -> bool:
        """Report whether the container has run at all, or been given up."""
        return self.state != WAITING or self.last is not None

    @property
    def is_done(self) -> bool:
        """Report whether the container has ended and does not start again."""
        return self.state == ENDED and self.due == FOREVER

    @property
    def has_succeeded(self) -> bool:
        """Report whether it is done and its exit code was 0."""
        return self.is_done and self.code == 0

    def is_started(self, now: float) -> bool:
        """Report whether it runs and its startup probe has passed."""
        return self.state == RUNNING and now >= self.started_at + self.plan.probed.started_s

    def is_ready(self, now: float) -> bool:
        """Report whether it serves, or, as an init container, has succeeded; ephemeral ones serve nobody."""
        if self.plan.role == INIT:
            return self.has_succeeded
        if self.plan.role == EPHEMERAL:
            return False
        probed = self.plan.probed
        if self.state != RUNNING or now < self.started_at + probed.ready_s:
            return False
        return sum(now >= self.started_at + turn_s for turn_s in probed.turns) % 2 == 0

    def next_due(self, now: float) -> float:
        """Return the time at which the container looks different, infinite if it never does by itself."""
        found = self.due
        if self.state == RUNNING:
            probed = self.plan.probed
            for delay_s in (probed.started_s, probed.ready_s, *probed.turns):
                if now < self.started_at + delay_s < found:
                    found = self.started_at + delay_s
        return found

    def wait(self, reason: str, message: str = "", due: float = FOREVER) -> None:
        """Wait, until `due` if that is given."""
        self.state, self.reason, self.message, self.due = WAITING, reason, message, due

    def start(self, now: float) -> None:
        """Run, until the plan says otherwise."""
        self.state, self.reason, self.message = RUNNING, "", ""
        self.started_at, self.retries = now, 0
        self.due = now + self.plan.ending(self.restarts).after_s

    def end(self, now: float, code: int, reason: str, *, stays: bool, message: str = "") -> None:
        """End the run; unless it `stays` so, the container is looked at again soon."""
        self.state, self.reason, self.message, self.code, self.ended_at = ENDED, reason, message, code, now
        if now - self.started_at >= STABLE_S:
            self.backoff_s = 0.0
        self.due = FOREVER if stays or not self.plan.restarts(code) else now + RESTART_S

    def begin_again(self, pod: str, now: float) -> None:
        """After an end, start again at once for the first time, and later after a growing delay."""
        self.last = self.terminated()
        self.restarts += 1
        if not self.backoff_s:
            self.backoff_s = FIRST_BACKOFF_S
            self.due = now
            self.state, self.reason, self.message = WAITING, "ContainerCreating", ""
            return
        text = duration_text(round(self.backoff_s * 1e9))
        message = f"back-off {text} restarting failed container={self.name} pod={pod}"
        self.wait(CRASH_LOOP, message, self.ended_at + self.backoff_s)
        self.backoff_s = min(2 * self.backoff_s, MOST_BACKOFF_S)

    def terminated(self) -> Object:
        """Return the state of the run that has ended."""
        state = {
            "exitCode": self.code,
            "reason": self.reason,
            "startedAt": rfc3339(int(self.started_at)) if self.started_at else None,
            "finishedAt": rfc3339(int(self.ended_at)),
            "containerID": self.container_id(self.restarts),
        }
        return {**state, "message": self.message} if self.message else state

    def container_id(self, attempt: int) -> str:
        """Return the identity of the container of one attempt."""
        return f"{RUNTIME}://{_digest(f'{self.uid}/{self.name}/{attempt}')}"

    def status(self, now: float) -> Object:
        """Return the container's status."""
        made: Object = {
            "name": self.name,
            "state": {self.state: self._state()},
            "lastState": {} if self.last is None else {"terminated": self.last},
            "ready": self.is_ready(now),
            # A container that waits for its restart has not been restarted yet.
            "restartCount": self.restarts - (self.state == WAITING and self.last is not None),
            "image": self.image,
            "imageID": "",
        }
        if self.state != WAITING:
            made["imageID"] = image_id(self.image)
            made["containerID"] = self.container_id(self.restarts)
        elif self.last is not None:
            made["imageID"], made["containerID"] = image_id(self.image), self.last.get("containerID", "")
        if self.plan.role not in (INIT, EPHEMERAL):
            made["started"] = self.is_started(now)
        return made

    def _state(self) -> Object:
        if self.state == RUNNING:
            return {"startedAt": rfc3339(int(self.started_at))}
        if self.state == ENDED:
            return self.terminated()
        return {"reason": self.reason, "message": self.message} if self.message else {"reason": self.reason}

    def restore(self, status: Object) -> None:
        """Take over a stored status."""
        state, last = status.get("state") or {}, (status.get("lastState") or {}).get("terminated")
        self.last, self.restarts = last, int(status.get("restartCount") or 0)
        self.backoff_s = min(FIRST_BACKOFF_S * 2.0 ** (self.restarts - 1), MOST_BACKOFF_S) if self.restarts else 0.0
        if (running := state.get(RUNNING)) is not None:
            self.state, self.started_at = RUNNING, _seconds(running.get("startedAt"))
            self.due = self.started_at + self.plan.ending(self.restarts).after_s
        elif (ended := state.get(ENDED)) is not None:
            self.state, self.code = ENDED, int(ended.get("exitCode") or 0)
            self.reason, self.message = ended.get("reason", ""), ended.get("message", "")
            self.started_at, self.ended_at = _seconds(ended.get("startedAt")), _seconds(ended.get("finishedAt"))
            self.due = self.ended_at + RESTART_S if self.plan.restarts(self.code) else FOREVER
        elif (waiting := state.get(WAITING)) is not None:
            self.reason, self.message = waiting.get("reason", ""), waiting.get("message", "")
            if last is not None:
                self.due = _seconds(last.get("finishedAt")) + self.backoff_s
                self.backoff_s = min(2 * self.backoff_s, MOST_BACKOFF_S) or FIRST_BACKOFF_S
                self.restarts += 1


def image_id(image: str) -> str:
    """Return the identity of an image, which is the same for equal names."""
    name, _, digest = image.partition("@")
    if digest:
        return image
    folder, slash, last = name.rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}@sha256:{_digest(image)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _seconds(text: str | None) -> float:
    return float(parse_time(text)[0]) if text else 0.0

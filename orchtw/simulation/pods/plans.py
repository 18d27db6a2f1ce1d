"""Plan of a container's runs: when it starts, is ready and ends, by annotations, command and defaults (SIM-22)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import Final

import msgspec

from orchtw.simulation.pods.annotations import Behaviour, behaviour
from orchtw.simulation.pods.probes import Probed, probed
from orchtw.simulation.shell.files import MOST_TEXT, Files
from orchtw.simulation.shell.programs import Surroundings
from orchtw.simulation.shell.session import Foreseen, foreseen
from orchtw.values.quantity import quantity
from orchtw.wire.objects import Object

START_S: Final = 0.3
"""Simulated seconds from the creation of a container to its start."""
RUN_S: Final = 1.0
"""Length of a run that ends, where nothing says more."""
INIT_RUN_S: Final = 0.5
TERMINATION_S: Final = 0.5
"""Time in which a container ends when it is asked to."""
FOREVER: Final = float("inf")

INIT, SIDECAR, MAIN, EPHEMERAL = "init", "sidecar", "main", "ephemeral"
ALWAYS, ON_FAILURE, NEVER = "Always", "OnFailure", "Never"

RESOLVED: Final = "resolved"
"""Source of a variable whose value has been looked up."""

MOST_SAID: Final = 2_048
MOST_SAID_LINES: Final = 80
"""Most of what a container has said last that becomes its message."""
MOST_EXPANDED: Final = 1 << 18
"""Characters of a container's environment, and of its command, up to which references in them are replaced."""

_MISSING_TAGS: Final = frozenset({"nonexistent", "non-existent", "404"})
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe", "ports")
_REFERENCE: Final = re.compile(r"\$\((\w+)\)")


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """The end of one run: seconds after its start, exit code, reason and message. `probe` caused it, if any."""

    after_s: float
    code: int
    reason: str
    message: str = ""
    probe: str = ""


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Plan of a container's runs. `policy` says when it starts again.

    `commanded` is what its command comes to, None for one that the simulation does not know.
    """

    role: str
    policy: str
    wishes: Behaviour
    endless: bool
    commanded: Foreseen | None
    start_s: float
    probed: Probed
    termination_s: float
    image_error: str
    message: str = ""
    """Message of a run whose command comes to its end."""
    probe_fails: bool = False
    """Failure of the readiness probe: a remote command has moved the file that it requests."""
    problems: tuple[str, ...] = ()

    def ending(self, attempt: int) -> Ending:
        """Return how a run ends; `attempt` counts from 0."""
        found = self._unprobed(attempt)
        if self.probed.fails_s >= found.after_s:
            return found
        after_s = self.probed.fails_s + self.termination_s
        return Ending(after_s=after_s, code=137, reason="Error", probe=self.probed.failed)

    def _unprobed(self, attempt: int) -> Ending:
        wishes, usual_s = self.wishes, INIT_RUN_S if self.role == INIT else RUN_S
        after_s = wishes.exit_after_s
        if attempt < wishes.crashes:
            return _ending(usual_s if after_s is None else after_s, wishes.exit_code or 1)
        if wishes.oom:
            return Ending(after_s=usual_s if after_s is None else after_s, code=137, reason="OOMKilled")
        if after_s is not None and not wishes.crashes:
            return _ending(after_s, wishes.exit_code or 0)
        if wishes.exit_code is not None and not wishes.crashes:
            return _ending(usual_s, wishes.exit_code)
        if self.commanded is not None:
            return _ending(self.commanded.length_s, self.commanded.code, self.message)
        return _ending(FOREVER if self.endless else usual_s, 0)

    def restarts(self, code: int) -> bool:
        """Report whether the container starts again after an exit."""
        return self.policy == ALWAYS or (self.policy == ON_FAILURE and code != 0)


def plan(pod: Object, container: Object, role: str, now: float) -> RunPlan:
    """Return how a container of a pod runs; `now` is the time in seconds since the epoch."""
    wishes, problems = behaviour(pod, container["name"], whole_pod=role == MAIN)
    probe_fails = _has_moved(container, wishes)
    commanded = _commanded(pod, container, now)
    outcome = probed(container, commanded, surroundings(pod, container, now))
    if wishes.never_ready or probe_fails:
        outcome = msgspec.structs.replace(outcome, ready_s=FOREVER, turns=())
    elif wishes.ready_delay_s is not None:
        outcome = msgspec.structs.replace(outcome, ready_s=max(outcome.started_s, wishes.ready_delay_s), turns=())
    return RunPlan(
        role=role,
        policy=_policy(pod, container, role),
        wishes=wishes,
        endless=_is_endless(pod, container, role),
        commanded=commanded,
        start_s=START_S if wishes.start_delay_s is None else wishes.start_delay_s,
        probed=outcome,
        message=_message(container, commanded),
        probe_fails=probe_fails,
        termination_s=_termination(container, wishes, pod, now),
        image_error=wishes.image_error or _missing_image(container),
        problems=problems,
    )


def roles(spec: Object) -> Sequence[tuple[str, Object]]:
    """Return the containers of a pod with their roles: init containers and sidecars in order, then the others."""
    made = [
        (SIDECAR if each.get("restartPolicy") == ALWAYS else INIT, each) for each in spec.get("initContainers") or ()
    ]
    made += [(MAIN, each) for each in spec.get("containers") or ()]
    return [*made, *((EPHEMERAL, each) for each in spec.get("ephemeralContainers") or ())]


class _Room:
    """Replacement of references `$(NAME)` by values, of MOST_EXPANDED characters together; later ones stay."""

    def __init__(self) -> None:
        self._left = MOST_EXPANDED

    def expanded(self, text: str, values: Mapping[str, str]) -> str:
        """Return a text with the values of its references; unknown ones stay."""
        return _REFERENCE.sub(lambda found: self._value(found, values), text)

    def _value(self, found: re.Match[str], values: Mapping[str, str]) -> str:
        value = values.get(found[1], found[0])
        if len(value) > self._left:
            return found[0]
        self._left -= len(value)
        return value


def variables(pod: Object, container: Object) -> Mapping[str, str]:
    """Return the environment of a container as far as the pod says it."""
    found = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME": hostname(pod)}
    room = _Room()
    for each in container.get("env") or ():
        source = each.get("valueFrom") or {}
        if RESOLVED in source:
            text = source[RESOLVED]
        elif "fieldRef" in source:
            text = _field(pod, source["fieldRef"]["fieldPath"])
        elif "resourceFieldRef" in source:
            text = _amount(pod, container, source["resourceFieldRef"])
        else:
            text = room.expanded(each.get("value", ""), found)
        found[each["name"]] = text
    return {**found, "HOME": "/root"}


def command_of(container: Object) -> Sequence[str]:
    """Return a container's command as far as the pod says it: an image may put its own before the arguments."""
    return (*(container.get("command") or ()), *(container.get("args") or ()))


def hostname(pod: Object) -> str:
    """Return the host's name inside a pod."""
    name: str = pod["spec"].get("hostname") or pod["metadata"]["name"]
    return name[:63].rstrip("-.")


def surroundings(pod: Object, container: Object, now: float, files: Files | None = None) -> Surroundings:
    """Return the environment of commands in a container; without `files`, none has been moved."""
    return Surroundings(
        variables=variables(pod, container), hostname=hostname(pod), now=lambda: now, files=files or Files()
    )


def _policy(pod: Object, container: Object, role: str) -> str:
    if role == EPHEMERAL:
        return NEVER
    of_pod = pod["spec"].get("restartPolicy") or ALWAYS
    if role == INIT:
        # An init container that has succeeded is done.
        return NEVER if of_pod == NEVER else ON_FAILURE
    return str(container.get("restartPolicy") or of_pod)


def _ending(after_s: float, code: int, message: str = "") -> Ending:
    return Ending(after_s=after_s, code=code, reason="Error" if code else "Completed", message=message)


def _message(container: Object, commanded: Foreseen | None) -> str:
    """Return what a command leaves in its container's file for messages, or else the end of what it says."""
    if commanded is None:
        return ""
    path = container.get("terminationMessagePath") or "/dev/termination-log"
    text = next((text for _, name, text in reversed(commanded.files) if name == path), "") or ""
    if not text and commanded.code and container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
        said = "".join(text for _, text in commanded.output)
        text = "".join(said[-MOST_SAID:].splitlines(keepends=True)[-MOST_SAID_LINES:])
    return text[:MOST_TEXT]


def _is_endless(pod: Object, container: Object, role: str) -> bool:
    """Report whether a container is taken for one that serves until it is ended."""
    if role in (SIDECAR, EPHEMERAL):
        return True
    if role == INIT:
        return False
    name = container.get("image", "").rpartition("/")[2].partition(":")[0].partition("@")[0]
    always = _policy(pod, container, role) == ALWAYS
    return always or name == "pause" or any(container.get(key) for key in _PROBES)


def _commanded(pod: Object, container: Object, now: float) -> Foreseen | None:
    words = command_of(container)
    if not words:
        return None
    around = surroundings(pod, container, now, Files(bare=True))
    room = _Room()
    expanded = [room.expanded(word, around.variables) for word in words]
    return foreseen(expanded, around, waits=bool(container.get("stdin")))


def _field(pod: Object, path: str) -> str:
    """Return a field that an environment variable shows; empty for those that are not known."""
    where, _, rest = path.partition(".")
    if rest.endswith("']") and "['" in rest:
        rest, _, key = rest[:-2].partition("['")
        return str((pod[where].get(rest) or {}).get(key, ""))
    found = (pod.get(where) or {}).get(rest, "")
    return found if isinstance(found, str) else ""


def _amount(pod: Object, container: Object, source: Object) -> str:
    """Return a request or limit of a container in whole units of its divisor, rounded up; 0 for one without."""
    wanted = source.get("containerName") or container["name"]
    owner = next((each for _, each in roles(pod["spec"]) if each["name"] == wanted), container)
    kind, _, name = source["resource"].partition(".")
    found = ((owner.get("resources") or {}).get(kind) or {}).get(name)
    unit = _exact(str(source.get("divisor") or 1)) or 1
    return str(ceil(_exact(str(found)) / unit)) if found else "0"


def _exact(text: str) -> Fraction:
    found = quantity(text)
    return found.mantissa * Fraction(10) ** found.exponent


def _has_moved(container: Object, wishes: Behaviour) -> bool:
    """Report whether a remote command has moved the file that the HTTP readiness probe requests."""
    path: str = ((container.get("readinessProbe") or {}).get("httpGet") or {}).get("path") or "/"
    return not path.endswith("/") and any(origin.endswith(path) for origin, _ in wishes.moved)


def _termination(container: Object, wishes: Behaviour, pod: Object, now: float) -> float:
    if wishes.termination_delay_s is not None:
        return wishes.termination_delay_s
    hook = (container.get("lifecycle") or {}).get("preStop") or {}
    if "sleep" in hook:
        return TERMINATION_S + float(hook["sleep"].get("seconds") or 0)
    command = (hook.get("exec") or {}).get("command")
    outcome = foreseen(command, surroundings(pod, container, now)) if command else None
    return TERMINATION_S + (0.0 if outcome is None else outcome.length_s)


def _missing_image(container: Object) -> str:
    image: str = container.get("image", "")
    tag = image.rpartition("/")[2].partition("@")[0].partition(":")[2]
    return "manifest unknown" if tag in _MISSING_TAGS else ""

"""Feature gates: names, stages, defaults by release, and the values of `--feature-gates` (reference OPS-23)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from orchtw.config.gate import Gate
from orchtw.config.newer_gates import NEWER_GATES
from orchtw.config.releases import NEWEST, release_of
from orchtw.flags.flag import parse_boolean


def _gates(stage: str, on: bool, *names: str, locked: bool = False) -> dict[str, Gate]:
    return dict.fromkeys(names, Gate(stage, on, locked))


GATES: Mapping[str, Gate] = MappingProxyType(
    _gates(
        "ga",
        True,
        "AdvancedAuditing",
        "BoundServiceAccountTokenVolume",
        "CSIStorageCapacity",
        "CSRDuration",
        "DefaultPodTopologySpread",
        "DryRun",
        "EfficientWatchResumption",
        "NonPreemptingPriority",
        "PodOverhead",
        "SelectorIndex",
        "ServerSideApply",
        "TTLAfterFinished",
    )
    | _gates("ga", True, "RemoveSelfLink", "WatchBookmark", locked=True)
    | _gates(
        "beta",
        True,
        "APIListChunking",
        "APIPriorityAndFairness",
        "APIResponseCompression",
        "OpenAPIEnums",
        "OpenAPIV3",
        "PodSecurity",
        "RemainingItemCount",
        "StorageVersionHash",
    )
    # The specification's accounts get a token Secret each, as before 1.24 (reference CTRL-22).
    | {"LegacyServiceAccountTokenNoAutoGeneration": Gate("beta", on=True, on_in_orch=False)}
    # Alpha and off in the release; on here, because CEL rules in a schema and requests for strict field validation
    # should not be ignored silently.
    | _gates("alpha", True, "CustomResourceValidationExpressions", "ServerSideFieldValidation")
    | _gates(
        "alpha",
        False,
        "APIServerIdentity",
        "APIServerTracing",
        "HPAScaleToZero",
        "StorageVersionAPI",
    )
    | dict(NEWER_GATES)
)
# Switches for all gates of a stage; a gate that is set individually in the same flag takes precedence.
_WHOLE_STAGES = {"AllAlpha": "alpha", "AllBeta": "beta"}


def resolve(
    settings: Iterable[tuple[str, str]], vocabulary: str, emulated: str = NEWEST
) -> tuple[dict[str, bool], list[str]]:
    """Return every gate's state given the (name, value) pairs of the flag, and the problems, one line each.

    A gate that is newer than the `emulated` release is off, whatever a whole stage is set to; naming it is a problem.
    """
    release = release_of(emulated)
    known = {name: gate for name, gate in GATES.items() if gate.since <= release}
    state = {name: name in known and gate.default(vocabulary) for name, gate in GATES.items()}
    problems: list[str] = []
    singles: dict[str, bool] = {}
    for name, text in settings:
        try:
            value = parse_boolean(text)
        except ValueError as error:
            problems.append(f"invalid value of {name}={text}, {error}")
            continue
        if name in _WHOLE_STAGES:
            state |= {other: value for other, found in known.items() if found.stage == _WHOLE_STAGES[name]}
        elif problem := _problem(name, value, known, emulated):
            problems.append(problem)
        else:
            singles[name] = value
    return state | singles, problems


def _problem(name: str, value: bool, known: Mapping[str, Gate], emulated: str) -> str:
    """Return what forbids setting a gate to a value; empty if nothing does."""
    switched = f"cannot set feature gate {name} to {str(value).lower()}"
    if name not in GATES:
        return f"unrecognized feature gate: {name}"
    gate = known.get(name)
    if gate is None:
        return f"{switched}, feature is newer than the emulated version {emulated}"
    if gate.locked and value != gate.on:
        return f"{switched}, feature is locked to {str(gate.on).lower()}"
    return ""


def notes_on_gates(state: Mapping[str, bool], settings: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return warnings about GA gates that were set by name: they will be removed."""
    named = dict.fromkeys(name for name, _ in settings if name in GATES and GATES[name].stage == "ga")
    return tuple(
        f"Setting GA feature gate {name}={str(state[name]).lower()}. It will be removed in a future release."
        for name in named
    )

"""Feature gates of release 1.24: names, stages, defaults, and the values of `--feature-gates` (reference OPS-23)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import attrs

from orchtw.flags.flag import parse_boolean


@attrs.frozen(slots=True)
class Gate:
    """Feature gate: its stage (`alpha`, `beta` or `ga`), its default, and whether it is `locked` to that.

    `on_in_orch` is the default under the vocabulary `orch`; None: the same.
    """

    stage: str
    on: bool
    locked: bool = False
    on_in_orch: bool | None = None

    def default(self, vocabulary: str) -> bool:
        """Return the default state under a vocabulary."""
        return self.on if self.on_in_orch is None or vocabulary != "orch" else self.on_in_orch


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
        "StorageVersionAPI",
    )
)
# Switches for all gates of a stage; a gate that is set individually in the same flag takes precedence.
_WHOLE_STAGES = {"AllAlpha": "alpha", "AllBeta": "beta"}


def resolve(settings: Iterable[tuple[str, str]], vocabulary: str) -> tuple[dict[str, bool], list[str]]:
    """Return every gate's state given the (name, value) pairs of the flag, and the problems, one line each."""
    state = {name: gate.default(vocabulary) for name, gate in GATES.items()}
    problems: list[str] = []
    singles: dict[str, bool] = {}
    for name, text in settings:
        try:
            value = parse_boolean(text)
        except ValueError as error:
            problems.append(f"invalid value of {name}={text}, {error}")
            continue
        gate = GATES.get(name)
        if name in _WHOLE_STAGES:
            state |= {other: value for other, found in GATES.items() if found.stage == _WHOLE_STAGES[name]}
        elif gate is None:
            problems.append(f"unrecognized feature gate: {name}")
        elif gate.locked and value != gate.on:
            problems.append(
                f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {str(gate.on).lower()}"
            )
        else:
            singles[name] = value
    return state | singles, problems


def notes_on_gates(state: Mapping[str, bool], settings: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return warnings about GA gates that were set by name: they will be removed."""
    named = dict.fromkeys(name for name, _ in settings if name in GATES and GATES[name].stage == "ga")
    return tuple(
        f"Setting GA feature gate {name}={str(state[name]).lower()}. It will be removed in a future release."
        for name in named
    )

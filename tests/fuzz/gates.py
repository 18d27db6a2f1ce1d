"""Feature gates to run the fuzzer with."""

from __future__ import annotations

from orchtw.config.feature_gates import GATES

STATES = ("default", "on", "off")


def flags_of(state: str) -> tuple[str, ...]:
    """Return the flags of a server whose gates are all `on`, all `off` or at their `default`; locked ones stay."""
    if state == STATES[0]:
        return ()
    value = str(state == "on").lower()
    return ("--feature-gates=" + ",".join(f"{name}={value}" for name, gate in GATES.items() if not gate.locked),)

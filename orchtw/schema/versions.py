"""The names of API versions in order of maturity."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v(?P<major>\d+)(?:(?P<stage>alpha|beta)(?P<minor>\d+))?")
_STAGES = {None: 0, "beta": 1, "alpha": 2}
_OTHER = 3


def maturity(version: str) -> tuple[int, int, int, str]:
    """Return a sort key: stable versions before betas and alphas, later ones first, names of another form last."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return _OTHER, 0, 0, version
    return _STAGES[match["stage"]], -int(match["major"]), -int(match["minor"] or 0), ""

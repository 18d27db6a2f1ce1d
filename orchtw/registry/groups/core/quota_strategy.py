"""Write rules of quotas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from orchtw.config.releases import Release
from orchtw.errors import Cause
from orchtw.quota.scopes import VOLUME_ATTRIBUTES
from orchtw.registry.groups.core.quota_validation import validate_quota
from orchtw.registry.strategy import Strategy
from orchtw.wire.objects import Object

_CLASSES_SINCE: Final[Release] = (1, 33)
"""Release that brought the scope of volume attributes."""


class ResourceQuotaStrategy(Strategy):
    """Strategy of quotas, whose scopes depend on the release."""

    _classes_on = False
    _release_has_classes = False

    def configure(self, gates: Mapping[str, bool]) -> None:
        self._classes_on = gates["VolumeAttributesClass"]

    def emulate(self, release: Release) -> None:
        self._release_has_classes = release >= _CLASSES_SINCE

    def validate_own(self, obj: Object, old: Object | None) -> list[Cause]:
        known = self._classes_on and self._release_has_classes
        return validate_quota(obj, old, self.naming, () if known else (VOLUME_ATTRIBUTES,))

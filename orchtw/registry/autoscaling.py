"""Strategy of horizontal pod autoscalers."""

from __future__ import annotations

from orchtw.objects import Object
from orchtw.registry.defaults.autoscaling import fill_autoscaler
from orchtw.registry.strategy import Strategy


class AutoscalerStrategy(Strategy):
    """Defaults of the oldest version depend on annotations, whose names are the vocabulary's."""

    def default(self, obj: Object) -> None:
        fill_autoscaler(obj, self.naming)

"""Whatever a configuration holds, it is read or refused with one line (reference ADM-12, ADM-14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from orchtw.admission.configuration import Given
from orchtw.admission.plugins import event_rate_limit, pod_node_selector, pod_toleration_restriction
from orchtw.admission.plugins.image_policy import settings
from orchtw.errors import ConfigError
from orchtw.wire.objects import Object
from tests.admission.asked import NAMING, configured
from tests.properties import examples

WORDS = (
    *("apiVersion", "kind", "limits", "type", "qps", "burst", "cacheSize", "default", "whitelist", "key", "operator"),
    *("value", "effect", "tolerationSeconds", "imagePolicy", "kubeConfigFile", "allowTTL", "denyTTL", "retryBackoff"),
    *("defaultAllow", "podNodeSelectorPluginConfig", "clusterDefaultNodeSelector", "Server", "User", "Exists", "a=b"),
    *("NoExecute", "Configuration", event_rate_limit.API_VERSION, pod_toleration_restriction.API_VERSION),
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(WORDS) | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)
READERS: dict[str, Callable[[Given | None], Any]] = {
    event_rate_limit.API_VERSION: event_rate_limit.read,
    pod_toleration_restriction.API_VERSION: pod_toleration_restriction.read,
    "": pod_node_selector.read,
    "v1": lambda found: settings.read(found, NAMING, Clock()),
}


class ReaderTests(SynchronousTestCase):
    @examples(300)
    @given(st.sampled_from(sorted(READERS)), st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=4))
    def test_anything(self, version: str, obj: Object) -> None:
        """The only thing that is raised is a ConfigError of one line that names the file."""
        if "/" in version:
            obj = {**obj, "apiVersion": version, "kind": "Configuration"}
        try:
            READERS[version](configured(obj))
        except ConfigError as error:
            self.assertEqual(len(error.problems), 1)
            self.assertTrue(str(error).startswith("/etc/orch/plugin.yaml: "), str(error))
            self.assertNotIn("\n", str(error))

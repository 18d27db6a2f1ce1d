"""Rules of policies that compare lists."""

from __future__ import annotations

from time import process_time

from twisted.trial.unittest import SynchronousTestCase

from orchtw.errors import MAX_CAUSES
from orchtw.naming.naming import Naming
from orchtw.registry.groups.policy.security_policies import validate_security_policy

MANY = 20_000


class SecurityPolicyTests(SynchronousTestCase):
    def test_long_lists(self) -> None:
        """However long the lists are, a look takes time in proportion, and few more causes come than are shown."""
        unsafe = [f"a{number}.*" for number in range(MANY)]
        banned = [f"a{number}.b" for number in range(MANY)] + ["k" * 1_000_000]
        lists = {"allowedUnsafeSysctls": unsafe, "forbiddenSysctls": banned}
        names = [str(number) for number in range(MANY)]
        lists |= {"requiredDropCapabilities": names, "allowedCapabilities": names, "volumes": names}
        classes = {"allowedRuntimeClassNames": ["A"] * MANY, "defaultRuntimeClassName": "b"}
        more = {"runtimeClass": classes, "allowedHostPaths": [{"pathPrefix": ".."}] * MANY}
        started = process_time()
        found = validate_security_policy({"metadata": {}, "spec": {**lists, **more}}, None, Naming.orch())
        self.assertLess(process_time() - started, 2)
        self.assertTrue(5 * MAX_CAUSES < len(found) < 12 * MAX_CAUSES, len(found))

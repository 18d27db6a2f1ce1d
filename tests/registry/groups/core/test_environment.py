"""Environment of containers (reference KIND-41)."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from orchtw.registry.groups.core.environment import import_causes, variable_causes


class EnvironmentTests(SynchronousTestCase):
    """Causes that reject `env` and `envFrom`."""

    def test_variables(self) -> None:
        """A variable has a name, and one value or source."""
        key = {"name": "s", "key": "k"}
        for variable, fields in (
            ({"name": "A", "value": "1"}, []),
            ({"value": "1"}, ["env[0].name"]),
            ({"name": "A", "valueFrom": {"secretKeyRef": key}}, []),
            ({"name": "A", "valueFrom": {}}, ["env[0].valueFrom"]),
            ({"name": "A", "value": "1", "valueFrom": {"secretKeyRef": key}}, ["env[0].valueFrom"]),
            ({"name": "A", "valueFrom": {"secretKeyRef": key, "configMapKeyRef": key}}, ["env[0].valueFrom"]),
            ({"name": "A", "valueFrom": {"secretKeyRef": {"name": "s"}}}, ["env[0].valueFrom.secretKeyRef.key"]),
        ):
            self.assertEqual([cause.field for cause in variable_causes([variable])], fields)

    def test_imports(self) -> None:
        """An import is of one ConfigMap or Secret with a name."""
        for each, fields in (
            ({"configMapRef": {"name": "m"}}, []),
            ({"secretRef": {}}, ["envFrom[0].secretRef.name"]),
            ({}, ["envFrom"]),
            ({"configMapRef": {"name": "m"}, "secretRef": {"name": "s"}}, ["envFrom"]),
        ):
            self.assertEqual([cause.field for cause in import_causes([each])], fields)

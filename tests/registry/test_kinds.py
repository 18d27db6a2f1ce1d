"""The records of kinds: what each changes, and that a kind of another group changes nothing."""
# covers: orchtw.registry.traits

from __future__ import annotations

import attrs
from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.registry.groups.core.services import SERVICE
from orchtw.registry.strategies import KINDS, strategy_for
from orchtw.registry.strategy import Strategy
from orchtw.registry.traits import GENERIC, Traits
from orchtw.schema.catalogue import Catalogue, ResourceType
from orchtw.schema.codec.codecs import Codecs
from orchtw.schema.kinds import GroupKind

NAMINGS = (Naming.orch(), Naming.kubernetes())
CATALOGUE = Catalogue.load(NAMINGS[0])
CODECS = Codecs(CATALOGUE)


def resource_of(group: str, kind: str, catalogue: Catalogue = CATALOGUE) -> ResourceType:
    return next(
        each for each in catalogue.resources if (each.group, each.kind) == (group, kind) and each.storage_version
    )


def traits_of(group: str, kind: str) -> Traits:
    return KINDS.get(GroupKind(group, kind), GENERIC)


class RegistryTests(SynchronousTestCase):
    """Records in `KINDS` and their keys."""

    def test_kinds_exist(self) -> None:
        """Every record is of a kind that the server stores, once."""
        stored = {
            GroupKind.of(each.storage_group, each.kind, CATALOGUE.naming)
            for each in CATALOGUE.resources
            if each.storage_group is not None
        }
        self.assertLessEqual(KINDS.keys(), stored)
        for key, record in KINDS.items():
            self.assertEqual(record.group_kind, key)

    def test_columns_have_cells(self) -> None:
        """A stored kind has cells if, and only if, it has columns."""
        for each in CATALOGUE.resources:
            if each.storage_group is not None:
                cells = traits_of(CATALOGUE.naming.neutral(each.storage_group), each.kind).cells
                self.assertEqual(bool(each.columns), cells is not None, each.qualified)


class ForeignKindTests(SynchronousTestCase):
    """Kinds of other groups that have the name of a built-in one."""

    def test_generic_strategy(self) -> None:
        """A Job, Service, Lease or Secret of a foreign group is treated as any kind, in both vocabularies."""
        for naming in NAMINGS:
            catalogue = Catalogue.load(naming)
            codecs = Codecs(catalogue)
            for own, kind, foreign in [
                ("batch", "Job", "batch.volcano.sh"),
                ("", "Service", "serving.knative.dev"),
                (naming.group("coordination.orch.io"), "Lease", "coordination.example.com"),
                ("", "Secret", "secrets.example.com"),
                ("apps", "Deployment", "apps.example.com"),
                (naming.group("node.orch.io"), "RuntimeClass", "node"),
                ("policy", "PodDisruptionBudget", "policy.example.com"),
            ]:
                resource = resource_of(own, kind, catalogue)
                codec = codecs.kind(resource.api_version, kind)
                strategy = strategy_for(attrs.evolve(resource, group=foreign), naming, codec)
                self.assertIs(type(strategy), Strategy, kind)
                self.assertIs(strategy.traits, GENERIC, kind)
                self.assertIsNot(strategy_for(resource, naming, codec).traits, GENERIC, kind)

    def test_defaults(self) -> None:
        """A foreign Job gets none of a Job's defaults."""
        resource = resource_of("batch", "Job")
        codec = CODECS.kind("batch/v1", "Job")
        strategy = strategy_for(attrs.evolve(resource, group="batch.volcano.sh"), CATALOGUE.naming, codec)
        job = codec.normalise({"metadata": {"name": "a"}, "spec": {"template": {"spec": {"containers": []}}}})
        strategy.set_defaults(job)
        self.assertNotIn("backoffLimit", job["spec"])

    def test_names(self) -> None:
        """A foreign Service may have a name that no Service of the core may have."""
        resource = resource_of("", "Service")
        codec = CODECS.kind("v1", "Service")
        meta = {"name": "1.a", "namespace": "b"}
        for group, good in (("serving.knative.dev", True), ("", False)):
            strategy = strategy_for(attrs.evolve(resource, group=group), CATALOGUE.naming, codec)
            self.assertEqual(not strategy.validate_create({"metadata": meta}), good, group)


class TraitsTests(SynchronousTestCase):
    """Content of the records."""

    def test_generic(self) -> None:
        """A kind without a record has no generation, a PUT creates nothing and needs no version, names are DNS."""
        self.assertEqual((GENERIC.generation, GENERIC.create_on_update, GENERIC.unconditional_update),
                         (None, False, True))  # fmt: skip
        self.assertEqual(GENERIC.status_ignores, ("spec",))
        self.assertEqual(GENERIC.name_form.check("a.b"), ())

    def test_create_on_update(self) -> None:
        """The kinds that a PUT may create (reference KIND-8)."""
        self.assertEqual(
            {record.kind for record in KINDS.values() if record.create_on_update},
            {"Endpoints", "Event", "LimitRange", "Service", "Lease", "LeaseCandidate", "RuntimeClass", "Role"}
            | {"ClusterRole", "RoleBinding", "ClusterRoleBinding"},
        )

    def test_version_required(self) -> None:
        """The kinds whose PUT must name the resourceVersion (reference KIND-9)."""
        self.assertEqual(
            {record.kind for record in KINDS.values() if not record.unconditional_update},
            {"RuntimeClass", "PodDisruptionBudget", "StorageVersion", "CSIDriver", "CSINode", "CSIStorageCapacity"}
            | {"VolumeAttachment", "Lease", "LeaseCandidate"}
            | {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}
            | {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}
            | {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
            | {"CustomResourceDefinition", "APIService"},
        )

    def test_orphans(self) -> None:
        """The versions whose deletions leave dependents alone by default (reference DEL-5)."""
        self.assertEqual(
            {(record.kind, version) for record in KINDS.values() for version in record.orphans_in},
            {("ReplicationController", "v1"), ("Job", "v1"), ("CronJob", "v1beta1")},
        )

    def test_names(self) -> None:
        """Namespaces are labels, Services DNS-1035 labels, RBAC names path segments, most others subdomains."""
        for group, kind, good, bad in [
            ("", "Pod", "a.b", "a_b"),
            ("", "Namespace", "a", "a.b"),
            ("", "Service", "a1", "1a"),
            ("", "Event", "A b", "a/b"),
            ("rbac.authorization.orch.io", "ClusterRole", "system:A", "a%"),
            ("certificates.orch.io", "CertificateSigningRequest", "A:b", ".."),
            ("policy", "PodDisruptionBudget", "A", "."),
            ("batch", "CronJob", "a" * 52, "a" * 53),
            ("batch", "Job", "a" * 253, "a" * 254),
            ("storage.orch.io", "CSIDriver", "a" * 63, "a" * 64),
            ("ex.io", "Anything", "a.b", "A"),
        ]:
            check = traits_of(group, kind).name_form.check
            self.assertEqual(check(good), (), kind)
            self.assertNotEqual(check(bad), (), kind)

    def test_one_place(self) -> None:
        """A record holds all that is special about its kind."""
        self.assertIs(KINDS[GroupKind("", "Service")], SERVICE)
        self.assertTrue(SERVICE.create_on_update)
        self.assertIsNotNone(SERVICE.cells)
        self.assertIsNotNone(SERVICE.set_defaults)

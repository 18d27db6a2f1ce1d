"""Packaged declarations of the API, and their agreement with the protos (reference ENC-11)."""
# covers: orchtw.commands.declaring

from __future__ import annotations

import json
from collections.abc import Iterator

from twisted.trial.unittest import SynchronousTestCase

from orchtw.commands.declaring import declared
from orchtw.schema.additions import RELEASE_1_24
from orchtw.schema.declarations import Field, Message, files, message
from orchtw.schema.descriptors import packaged

CORE = "orch.io.api.core.v1"


UNUSED = "orch.io.apimachinery.pkg.apis.meta.v1.GroupResource"
"""Message that release 1.24 has and uses nowhere."""


def later_messages() -> set[str]:
    """Return the messages that release 1.24 lacks: its kinds came later, or only later parts use them."""
    has = RELEASE_1_24.includes
    users: dict[str, list[tuple[str, bool]]] = {}
    found: set[str] = set()
    for each in (each for file in files() for each in file.messages):
        if not has(each.options.lifecycle.introduced):
            found.add(each.full_name)
        for field in each.fields():
            retyped = field.options.retyped
            if retyped is not None:
                users.setdefault(f"{each.package}.{retyped.message}", []).append((each.full_name, True))
            if field.holds_message and field.type != each.full_name:
                users.setdefault(field.type, []).append((each.full_name, not has(field.options.since)))
    del users[UNUSED]
    # Types that a package of newer kinds defines and does not use.
    for file in files():
        kinds = [each for each in file.messages if each.options.kind]
        if kinds and all(each.full_name in found for each in kinds):
            found |= {each.full_name for each in file.messages}
    while more := {
        name
        for name, holders in users.items()
        if name not in found and all(later or holder in found for holder, later in holders)
    }:
        found |= more
    return found


class DeclarationTests(SynchronousTestCase):
    def test_every_message_of_the_release_is_there(self) -> None:
        """Without the later additions, there are the 59 packages of release 1.24 with 921 messages and 3,299 fields
        (Reference ENC-11).
        """
        later, has = later_messages(), RELEASE_1_24.includes
        packages = [
            file
            for file in files()
            if not file.messages or any(each.full_name not in later for each in file.messages)
        ]
        first = [each for file in packages for each in file.messages if each.full_name not in later]
        fields = [field for each in first for field in each.fields() if has(field.options.since)]
        self.assertEqual((len(packages), len(first), len(fields)), (59, 921, 3299))

    def test_declarations_are_those_of_the_descriptors(self) -> None:
        """The packaged records are what the generator makes of the packaged descriptors."""
        self.assertEqual(files(), declared(packaged()))

    def test_fields_stand_in_json_order_with_their_own_numbers(self) -> None:
        """Declaration order is JSON emission order, whatever the numbers (Reference OBJ-19)."""
        fields = [(field.name, field.number) for field in message(f"{CORE}.Container").fields()]
        self.assertEqual(fields[4:8], [("workingDir", 5), ("ports", 6), ("envFrom", 19), ("env", 7)])

    def test_recursive_messages(self) -> None:
        """A schema holds schemas, at any depth; a container holds no container."""
        self.assertTrue(message("orch.io.apiextensions_apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps").recursive)
        self.assertFalse(message(f"{CORE}.Container").recursive)

    def test_unknown_message_is_a_key_error(self) -> None:
        """A name that no proto declares raises KeyError, as a field that a message lacks."""
        self.assertRaises(KeyError, message, f"{CORE}.Nothing")
        self.assertRaises(KeyError, message(f"{CORE}.Container").field, "nothing")


class OptionTests(SynchronousTestCase):
    def test_list_rules(self) -> None:
        """Container.ports is a list map with a compound key and another merge key (Reference APPLY-35, PATCH-14)."""
        options = message(f"{CORE}.Container").field("ports").options
        self.assertEqual((options.list_type, options.list_map_key), ("map", ("containerPort", "protocol")))
        self.assertEqual((options.patch_strategy, options.patch_merge_key), ("merge", "containerPort"))

    def test_maps(self) -> None:
        """A map's type is that of its values, a list's that of its elements."""
        labels = message("orch.io.apimachinery.pkg.apis.meta.v1.ObjectMeta").field("labels")
        self.assertEqual((labels.map, labels.repeated, labels.type), (True, False, "string"))
        ports = message(f"{CORE}.Container").field("ports")
        self.assertEqual((ports.map, ports.repeated, ports.type), (False, True, f"{CORE}.ContainerPort"))

    def test_json_name_is_given_only_where_it_differs(self) -> None:
        """MutatingWebhookConfiguration.Webhooks is `webhooks` in JSON; `name` needs no word about it."""
        kind = message("orch.io.api.admissionregistration.v1.MutatingWebhookConfiguration")
        self.assertEqual(kind.field("Webhooks").options.json, "webhooks")
        self.assertEqual(message(f"{CORE}.Container").field("name").options.json, "")

    def test_special_forms_have_no_json_name(self) -> None:
        """The parts of a Time have no JSON keys (Reference ENC-19)."""
        self.assertTrue(message("orch.io.apimachinery.pkg.apis.meta.v1.Time").field("seconds").options.special)

    def test_inline_fields(self) -> None:
        """A Volume's source is inline in JSON and a message of its own in Protobuf (Reference ENC-11)."""
        self.assertTrue(message(f"{CORE}.Volume").field("volumeSource").options.inline)

    def test_defaults_are_json(self) -> None:
        """Every default parses as JSON; PodSpec.dnsPolicy is filled with ClusterFirst."""
        defaults = {
            (each.full_name, field.name): json.loads(field.options.default)
            for each, field in _every_field()
            if field.options.default is not None
        }
        self.assertEqual(defaults[f"{CORE}.PodSpec", "dnsPolicy"], "ClusterFirst")
        self.assertEqual(defaults[f"{CORE}.PodSpec", "securityContext"], {})
        self.assertEqual(defaults["orch.io.api.apps.v1.DeploymentSpec", "replicas"], 1)
        self.assertNotIn((f"{CORE}.Container", "imagePullPolicy"), defaults)

    def test_enums_name_a_declared_set(self) -> None:
        """Every enum that a field names is declared in its file, or in the one that its prefix means."""
        declared = {file.package: {each.name for each in file.options.enum} for file in files()}
        homes = {"core": CORE, "meta": "orch.io.apimachinery.pkg.apis.meta.v1"}
        for each, field in _every_field():
            prefix, _, name = field.options.enum.rpartition(".")
            if name:
                self.assertIn(name, declared[homes.get(prefix, each.package)], (each.full_name, field.name))

    def test_lifecycle(self) -> None:
        """policy/v1beta1 PodDisruptionBudget goes in 1.25 and has a successor (reference VER-9)."""
        life = message("orch.io.api.policy.v1beta1.PodDisruptionBudget").options.lifecycle
        self.assertEqual((life.introduced, life.deprecated, life.removed), ("1.5", "1.21", "1.25"))
        assert life.replacement is not None
        self.assertEqual((life.replacement.group, life.replacement.version), ("policy", "v1"))


def _every_field() -> Iterator[tuple[Message, Field]]:
    return ((each, field) for file in files() for each in file.messages for field in each.fields())

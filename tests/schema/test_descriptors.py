"""Packaged descriptors, and their agreement with the protos."""
# covers: orchtw.commands.generate

from __future__ import annotations

import json
import sys
from io import StringIO
from pathlib import Path

from google.protobuf import descriptor_pool
from google.protobuf.descriptor import Descriptor, FileDescriptor
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from orchtw.commands import generate
from orchtw.errors import ConfigError
from orchtw.schema.additions import RELEASE_1_24
from orchtw.schema.descriptors import field_options, file_options, files, message_class, message_options, pool

CORE = "orch.io.api.core.v1"


UNUSED = "orch.io.apimachinery.pkg.apis.meta.v1.GroupResource"
"""Message that release 1.24 has and uses nowhere."""


def messages(file: FileDescriptor) -> list[Descriptor]:
    return list(file.message_types_by_name.values())


def message(name: str) -> Descriptor:
    return pool().FindMessageTypeByName(name)


def later_messages() -> set[str]:
    """Return the messages that release 1.24 lacks: its kinds came later, or only later parts use them."""
    has = RELEASE_1_24.includes
    users: dict[str, list[tuple[str, bool]]] = {}
    found: set[str] = set()
    for each in (each for file in files() for each in messages(file)):
        if not has(message_options(each).lifecycle.introduced):
            found.add(each.full_name)
        for field in each.fields:
            retyped = field_options(field).retyped
            if retyped.message:
                users.setdefault(f"{each.file.package}.{retyped.message}", []).append((each.full_name, True))
            used = field.message_type
            if used is not None and used.GetOptions().map_entry:
                used = used.fields_by_name["value"].message_type
            if used is not None and used != each:
                users.setdefault(used.full_name, []).append((each.full_name, not has(field_options(field).since)))
    del users[UNUSED]
    # Types that a package of newer kinds defines and does not use.
    for file in files():
        kinds = [each for each in messages(file) if message_options(each).kind]
        if kinds and all(each.full_name in found for each in kinds):
            found |= {each.full_name for each in messages(file)}
    while more := {
        name
        for name, holders in users.items()
        if name not in found and all(later or holder in found for holder, later in holders)
    }:
        found |= more
    return found


class DescriptorTests(SynchronousTestCase):
    def test_every_message_of_the_release_is_there(self) -> None:
        """Without the later additions, there are the 59 packages of release 1.24 with 921 messages and 3,299 fields
        (Reference ENC-11).
        """
        later, has = later_messages(), RELEASE_1_24.includes
        packages = [
            file
            for file in files()
            if not messages(file) or any(each.full_name not in later for each in messages(file))
        ]
        first = [each for file in packages for each in messages(file) if each.full_name not in later]
        fields = [field for each in first for field in each.fields if has(field_options(field).since)]
        self.assertEqual((len(packages), len(first), len(fields)), (59, 921, 3299))

    def test_fields_stand_in_json_order_with_their_own_numbers(self) -> None:
        """Declaration order is JSON emission order, whatever the numbers (Reference OBJ-19)."""
        fields = [(field.name, field.number) for field in message(f"{CORE}.Container").fields]
        self.assertEqual(fields[4:8], [("workingDir", 5), ("ports", 6), ("envFrom", 19), ("env", 7)])

    def test_messages_are_usable(self) -> None:
        """A message class encodes by field number: ObjectReference.kind is field 1."""
        self.assertEqual(message_class(f"{CORE}.ObjectReference")(kind="Pod").SerializeToString(), b"\n\x03Pod")

    def test_unknown_message_is_a_key_error(self) -> None:
        """A name that no proto declares raises KeyError."""
        self.assertRaises(KeyError, message_class, f"{CORE}.Nothing")

    def test_default_pool_stays_untouched(self) -> None:
        """Our messages live in a pool of their own."""
        self.assertRaises(KeyError, descriptor_pool.Default().FindMessageTypeByName, f"{CORE}.Pod")


class OptionTests(SynchronousTestCase):
    def test_list_rules(self) -> None:
        """Container.ports is a list map with a compound key and another merge key (Reference APPLY-35, PATCH-14)."""
        options = field_options(message(f"{CORE}.Container").fields_by_name["ports"])
        self.assertEqual(options.list_type, "map")
        self.assertEqual(list(options.list_map_key), ["containerPort", "protocol"])
        self.assertEqual((options.patch_strategy, options.patch_merge_key), ("merge", "containerPort"))

    def test_json_name_is_given_only_where_it_differs(self) -> None:
        """MutatingWebhookConfiguration.Webhooks is `webhooks` in JSON; `name` needs no word about it."""
        kind = message("orch.io.api.admissionregistration.v1.MutatingWebhookConfiguration")
        self.assertEqual(field_options(kind.fields_by_name["Webhooks"]).json, "webhooks")
        self.assertFalse(field_options(message(f"{CORE}.Container").fields_by_name["name"]).HasField("json"))

    def test_special_forms_have_no_json_name(self) -> None:
        """The parts of a Time have no JSON keys (Reference ENC-19)."""
        seconds = message("orch.io.apimachinery.pkg.apis.meta.v1.Time").fields_by_name["seconds"]
        self.assertTrue(field_options(seconds).special)

    def test_inline_fields(self) -> None:
        """A Volume's source is inline in JSON and a message of its own in Protobuf (Reference ENC-11)."""
        source = message(f"{CORE}.Volume").fields_by_name["volumeSource"]
        self.assertTrue(field_options(source).inline)

    def test_defaults_are_json(self) -> None:
        """Every default parses as JSON; PodSpec.dnsPolicy is filled with ClusterFirst."""
        defaults = {
            (each.full_name, field.name): json.loads(field_options(field).default)
            for file in files()
            for each in file.message_types_by_name.values()
            for field in each.fields
            if field_options(field).HasField("default")
        }
        self.assertEqual(defaults[f"{CORE}.PodSpec", "dnsPolicy"], "ClusterFirst")
        self.assertEqual(defaults[f"{CORE}.PodSpec", "securityContext"], {})
        self.assertEqual(defaults["orch.io.api.apps.v1.DeploymentSpec", "replicas"], 1)
        self.assertNotIn((f"{CORE}.Container", "imagePullPolicy"), defaults)

    def test_enums_name_a_declared_set(self) -> None:
        """Every enum that a field names is declared in its file, or in the one that its prefix means."""
        declared = {file.package: {each.name for each in file_options(file).enum} for file in files()}
        homes = {"core": CORE, "meta": "orch.io.apimachinery.pkg.apis.meta.v1"}
        for file in files():
            for each in file.message_types_by_name.values():
                for field in each.fields:
                    prefix, _, name = field_options(field).enum.rpartition(".")
                    if name:
                        self.assertIn(name, declared[homes.get(prefix, file.package)], field.full_name)

    def test_lifecycle(self) -> None:
        """policy/v1beta1 PodDisruptionBudget goes in 1.25 and has a successor (reference VER-9)."""
        life = message_options(message("orch.io.api.policy.v1beta1.PodDisruptionBudget")).lifecycle
        self.assertEqual((life.introduced, life.deprecated, life.removed), ("1.5", "1.21", "1.25"))
        self.assertEqual((life.replacement.group, life.replacement.version), ("policy", "v1"))


class GenerateTests(SynchronousTestCase):
    def test_packaged_set_is_fresh(self) -> None:
        """The committed api.binpb is what the protos compile to."""
        if not generate.PROTOS.is_dir():
            raise SkipTest("the protos are in the checkout only")
        try:
            fresh = generate.stripped(generate.compile_protos(generate.PROTOS))
        except ConfigError as error:
            raise SkipTest(str(error)) from error
        self.assertEqual(generate.OUTPUT.read_bytes(), fresh)

    def test_stale_set_fails_the_check(self) -> None:
        """`--check` exits 1 with one line and leaves the file alone when it differs."""
        if not generate.PROTOS.is_dir():
            raise SkipTest("the protos are in the checkout only")
        stale = Path(self.mktemp())
        stale.write_bytes(b"old")
        said = StringIO()
        self.patch(generate, "OUTPUT", stale)
        self.patch(sys, "stderr", said)
        self.assertEqual(generate.main(["--check"]), 1)
        self.assertEqual(said.getvalue().count("\n"), 1)
        self.assertEqual(stale.read_bytes(), b"old")

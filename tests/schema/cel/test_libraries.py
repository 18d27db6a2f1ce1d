"""Functions, macros and syntax that releases after 1.24 added to expressions (reference CRD-66)."""
# covers: orchtw.schema.cel.environment, orchtw.schema.cel.library.authorizers
# covers: orchtw.schema.cel.library.formatting, orchtw.schema.cel.library.json_patches
# covers: orchtw.schema.cel.library.list_changes, orchtw.schema.cel.library.named_formats
# covers: orchtw.schema.cel.library.networks, orchtw.schema.cel.library.optionals
# covers: orchtw.schema.cel.library.quantities, orchtw.schema.cel.library.semver, orchtw.schema.cel.library.sets
# covers: orchtw.schema.cel.code, orchtw.schema.cel.worst_steps
# covers: orchtw.schema.cel.literal_forms, orchtw.schema.cel.optional_forms, orchtw.schema.cel.optional_values

from __future__ import annotations

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from orchtw.naming.naming import Naming
from orchtw.schema.cel.code import Code
from orchtw.schema.cel.compiler import _Compiler, compiled
from orchtw.schema.cel.environment import Lazy, environment, object_type
from orchtw.schema.cel.faults import CostExceeded, Failure, Fault
from orchtw.schema.cel.frames import STEPS
from orchtw.schema.cel.library.authorizers import AUTHORIZER, Answer, Authorizer, Question
from orchtw.schema.cel.syntax import Expression
from orchtw.schema.cel.types import DYN, INT, STRING
from orchtw.schema.cel.values import Instance
from orchtw.schema.custom.rules import rules_of
from tests.schema.cel.samples import SELF

DOUBLED = "[1]" + ".map(a, [a, a])" * 60
"""List of 2^60 elements, of which there are sixty lists."""

SAMPLES: dict[tuple[int, int], dict[str, Any]] = {
    (1, 28): {
        "optional.of(1).value()": 1,
        "optional.none().hasValue()": False,
        "optional.none().orValue(3)": 3,
        'optional.ofNonZeroValue("").or(optional.of("x")).value()': "x",
        "self.?i.orValue(3)": 5,
        "self.?zz.orValue(3)": 3,
        "self.?o.?x.?q.hasValue()": False,
        "self.?o.x.hasValue()": True,
        "has(self.?q.x)": False,
        "has(self.?o.x)": True,
        'self[?"i"].value()': 5,
        "[1, 2][?5].orValue(9)": 9,
        "[1, ?optional.none(), ?optional.of(4)]": [1, 4],
        '{"a": 1, ?"b": optional.of(2), ?"c": optional.none()}': {"a": 1, "b": 2},
        "optional.of(2).optMap(x, x * 2).value()": 4,
        "optional.of([1]).optFlatMap(x, x.first()).value()": 1,
        "[1, 2, 3].last().value()": 3,
        "[].first().hasValue()": False,
        "optional.of(1) == optional.of(1)": True,
        "optional.none() == optional.of(1)": False,
        "optional.unwrap([optional.of(1), optional.none()])": [1],
        "[optional.of(1), optional.none()].unwrapOpt()": [1],
        "true ? 1 : optional.none().orValue(1 / 0)": 1,
        "optional.of(1).orValue(1 / 0)": 1,
        "1 < 1.5": True,
        "2u > 1": True,
        "1.0 >= 1u": True,
        'quantity("1Gi").isGreaterThan(quantity("1000M"))': True,
        'quantity("1").isLessThan(quantity("1k"))': True,
        'quantity("1.5").add(quantity("500m")).asInteger()': 2,
        'quantity("2").sub(3).sign()': -1,
        'quantity("50k") == quantity("50000")': True,
        'quantity("1").compareTo(quantity("1000m"))': 0,
        'quantity("1500m").isInteger()': False,
        'quantity("1500m").asApproximateFloat()': 1.5,
        'isQuantity("1Xi")': False,
    },
    (1, 29): {
        "sets.contains([1, 2, 3], [2, 1])": True,
        'sets.contains(["a"], ["b"])': False,
        "sets.equivalent([1, 1, 2], [2, 1])": True,
        "sets.intersects([1, 2], [2.0])": None,
        "sets.intersects([1, 2], [3])": False,
        '"%s is %d of %.2f, %b %o %x %X %e".format(["x", 3, 1.5, 5, 8, "hi", 255, 10.0])':
            "x is 3 of 1.50, 101 10 6869 FF 1.000000e+01",
        '"%s %s %s".format([[1, "a"], {"k": true}, null])': None,
        '"%s %s".format([dyn([1, dyn("a")]), {"k": true}])': "[1, a] {k: true}",
        '"100%%".format([])': "100%",
        r'strings.quote("a\"b\n")': r'"a\"b\n"',
    },
    (1, 30): {
        'ip("::1").isLoopback()': True,
        'ip("10.0.0.1").family()': 4,
        'ip("0.0.0.0").isUnspecified()': True,
        'ip("224.0.0.1").isLinkLocalMulticast()': True,
        'ip("ff02::1").isLinkLocalMulticast()': True,
        'ip("169.254.1.1").isLinkLocalUnicast()': True,
        'ip("10.0.0.1").isGlobalUnicast()': True,
        'ip("255.255.255.255").isGlobalUnicast()': False,
        'isIP("::ffff:1.2.3.4")': False,
        'isIP("fe80::1%eth0")': False,
        'isIP("01.2.3.4")': False,
        'ip.isCanonical("2001:DB8::1")': False,
        'ip("::1") == ip("0:0::1")': True,
        'string(ip("2001:DB8::1"))': "2001:db8::1",
        'cidr("10.0.0.0/8").containsIP("10.1.2.3")': True,
        'cidr("10.0.0.0/8").containsIP(ip("11.1.2.3"))': False,
        'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")': True,
        'cidr("10.1.0.0/16").containsCIDR(cidr("10.0.0.0/8"))': False,
        'string(cidr("10.1.0.0/8").masked())': "10.0.0.0/8",
        'cidr("10.1.0.0/8").prefixLength()': 8,
        'cidr("10.1.0.0/8").ip() == ip("10.1.0.0")': True,
        'isCIDR("10.0.0.0/33")': False,
        'type(ip("1.2.3.4")) == net.IP': True,
    },
    (1, 31): {
        'format.dns1123Label().validate("a-b").hasValue()': False,
        'format.dns1123LabelPrefix().validate("a-").hasValue()': False,
        'format.named("dns1035Label").value().validate("1a").value().size()': 1,
        'format.named("nope").hasValue()': False,
        'format.uri().validate("/a").hasValue()': False,
        'format.uuid().validate("x").value()': ["does not match the UUID format"],
        'format.date().validate("2024-13-01").value()': ["invalid date"],
        'format.datetime().validate("2024-01-01T00:00:00Z").hasValue()': False,
        'format.byte().validate("!").value()': ["invalid base64"],
        'format.labelValue().validate("").hasValue()': False,
        'format.qualifiedName().validate("a/b").hasValue()': False,
    },
    (1, 32): {
        "[1, 2].all(i, v, v == i + 1)": True,
        "[1, 2].exists(i, v, i == 0 && v == 2)": False,
        "[1, 2].existsOne(i, v, v > 1)": True,
        "[1, 2].existsOne(v, v > 1)": True,
        "[1, 2].exists_one(i, v, v > 1)": True,
        '{"a": 1}.all(k, v, k == "a" && v == 1)': True,
        "[5, 6].transformList(i, v, i * v)": [0, 6],
        "[5, 6].transformList(i, v, i > 0, v)": [6],
        '{"a": 1, "b": 2}.transformMap(k, v, v * 2)': {"a": 2, "b": 4},
        '{"a": 1, "b": 2}.transformMap(k, v, v > 1, k)': {"b": "b"},
        '["x"].transformMap(i, v, v)': {0: "x"},
        '{"a": 1}.transformMapEntry(k, v, {v: k})': {1: "a"},
    },
    (1, 33): {
        'semver("1.2.3-rc.1").isLessThan(semver("1.2.3"))': True,
        'semver("1.2.3-2").compareTo(semver("1.2.3-10"))': -1,
        'semver("1.2.3-a").isGreaterThan(semver("1.2.3-10"))': True,
        'semver("1.2.3+x") == semver("1.2.3")': True,
        'semver("v1.02", true).minor()': 2,
        'semver("1.2.3").major() + semver("1.2.3").patch()': 4,
        'isSemver("v1.2.3")': False,
        'isSemver("v1.2.3", true)': True,
        'isSemver("01.2.3")': False,
    },
    (1, 34): {
        "[1, 2, 3].slice(1, 2)": [2],
        "[[1], [2, 3]].flatten()": [1, 2, 3],
        "[[1], [2, 3]].flatten()[2] + [[1], [2]].flatten().size()": 5,
        "dyn([1, 2]).flatten()": [1, 2],
        "[[[1]], [[2]]].flatten(2)": [1, 2],
        "lists.range(3)": [0, 1, 2],
        "[1, 2, 1].distinct()": [1, 2],
        "[1, 2].reverse()": [2, 1],
        "[3, 1, 2].sort()": [1, 2, 3],
        '["b", "a"].sort()': ["a", "b"],
        '["aaa", "b"].sortBy(x, size(x))': ["b", "aaa"],
    },
}
"""Values of expressions by the release that has them; None: a list written out has elements of one type."""

FAILURES: dict[str, str] = {
    "optional.none().value()": "optional.none() dereference",
    'quantity("1.5").asInteger()': "cannot convert value to integer",
    'ip("1.2.3")': 'IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): unable to '
    "parse IP",
    'ip("::ffff:1.2.3.4")': 'IP Address "::ffff:1.2.3.4" parse error during conversion from string: IPv4-mapped IPv6 '
    "address is not allowed",
    'cidr("1.2.3.4")': 'network address parse error during conversion from string: netip.ParsePrefix("1.2.3.4"): no '
    "'/'",
    '"%d".format(["a"])': "error during formatting: decimal clause can only be used on integers, was given string",
    '"%d %d".format([1])': "index 1 out of range",
    '"%y".format([1])': 'could not parse formatting clause: unrecognized formatting clause "y"',
    "[1, 2].slice(1, 5)": "cannot slice(1, 5), list is length 2",
    "[1, 1].transformMapEntry(i, v, {v: i})": "insert failed: key '1' already exists",
    'semver("1.2")': "No Major.Minor.Patch elements found",
    '[dyn(1), dyn("a")].sortBy(x, x)': "list elements must have the same type",
}

ABSENT = ("cel.bind(x, 1, x)", 'base64.encode(b"a")', "math.greatest(1, 2)", "proto.hasExt(self, x)")


def value_of(source: str, release: tuple[int, int] | None = None) -> Any:
    """Evaluate an expression about a value, as a new one of a release; None: as a stored one."""
    found = compiled(source, {"self": DYN}, environment(release))
    return found.run(found.frame(SELF, None, 1_000_000))


class LibraryTests(SynchronousTestCase):
    def test_values(self) -> None:
        """Expressions have the value that the release says, in it and in those after it."""
        for release, samples in SAMPLES.items():
            for source, expected in samples.items():
                if expected is None:
                    self.assertRaises(Fault, value_of, source, release)
                    continue
                for at in (release, (1, 36), None):
                    found = value_of(source, at)
                    self.assertEqual((found, type(found)), (expected, type(expected)), source)

    def test_earlier_releases(self) -> None:
        """A release does not know what the next one adds."""
        for (major, minor), samples in SAMPLES.items():
            for source in samples:
                self.assertRaises(Fault, value_of, source, (major, minor - 1))

    def test_failures(self) -> None:
        """A function that has no value for its arguments says why."""
        for source, why in FAILURES.items():
            self.assertEqual(str(self.assertRaises(Failure, value_of, source)), why, source)

    def test_absent(self) -> None:
        """No release has the language's other extensions."""
        for source in ABSENT:
            fault = self.assertRaises(Fault, value_of, source)
            self.assertIn("undeclared reference to", fault.why)

    def test_literals(self) -> None:
        """New expressions are refused for literals that can have no value, and stored ones fail when they run."""
        for source in ("'a'.matches('(?=a)')", "duration('x')", "timestamp('x')"):
            self.assertRaises(Failure, value_of, source, (1, 28))
            self.assertRaises(Fault, value_of, source, (1, 29))
            self.assertRaises(Failure, value_of, source)

    def test_bounds(self) -> None:
        """Work on many elements or long texts is charged for, and ends."""
        many = "lists.range(3000)"
        for source in (
            "lists.range(2000000)",
            f"sets.contains({many}, {many})",
            f"{many}.map(x, [x]).distinct()",
            "lists.range(300).map(x, lists.range(300) + [x]).distinct()",
            f"{many}.map(x, {'a' * 5000!r}).sort()",
            f"{many}.sortBy(x, {'a' * 5000!r})",
            f"{DOUBLED} == {DOUBLED}",
            f"sets.contains({DOUBLED}, [{DOUBLED}[0]])",
            f"'%s'.format([{DOUBLED}])",
            f"optional.of({DOUBLED}) == optional.of({DOUBLED})",
            "'%.101f'.format([1.0])",
        ):
            self.assertRaises((CostExceeded, Failure), value_of, source)


    def test_worst_steps(self) -> None:
        """Work that grows faster than the object is known before it begins."""
        schema = {"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"}}}}
        small, large = 200_000, 900_000
        for rule, size_bytes, fewest, most in (
            ("sets.contains(self.l, self.l)", 4000, 1_000_000, 10_000_000),
            ("sets.contains(self.l, ['a', 'b'])", 4000, 0, small),
            ("self.l.distinct().size() > 1", 4000, 1_000_000, 10_000_000),
            ("self.l.sort() == self.l", 4000, 0, small),
            ("[1].map(a, [a]) == [1].map(a, [a])", 100, large, 10_000_000),
            ("[self, self] == [self, self]", 100, large, 10_000_000),
            ("[self.l, self.l].all(l, l.isSorted())", 100, large, 10_000_000),
            ("self.l == self.l.map(x, x)", 4000, 0, small),
            ("size(self.l.map(x, [x])) > 0", 4000, 0, small),
            ("self.l in [['a'], ['b']]", 4000, 0, small),
            ("lists.range(10).all(x, x < 10)", 100, 0, small),
            ("lists.range(size(self.l)).all(x, x < 10)", 100, large, 10_000_000),
        ):
            found = rules_of({**schema, "x-orch-validations": [{"rule": rule}]}, Naming.orch())
            assert found is not None
            self.assertTrue(fewest <= found.steps(size_bytes) <= most, (rule, found.steps(size_bytes)))


class VariableTests(SynchronousTestCase):
    """Variables of other names than `self`, for policies."""

    def test_variables(self) -> None:
        """Any names may stand for values, also ones with a dot."""
        found = compiled("object.a + params.b + request.kind", {"object": DYN, "params": DYN, "request.kind": STRING})
        frame = found.frame_of({"object": {"a": "x"}, "params": {"b": "y"}, "request.kind": "z", "more": 1}, 1000)
        self.assertEqual(found.run(frame), "xyz")
        self.assertEqual(found.names, {"object", "params", "request.kind"})

    def test_depth(self) -> None:
        """A value that is nested too deep for a comparison is an error of the expression."""
        deep: list[Any] = []
        for _ in range(3000):
            deep = [deep]
        found = compiled("a == b", {"a": DYN, "b": DYN})
        frame = found.frame_of({"a": deep, "b": [deep]}, 1_000_000)
        self.assertRaises(Failure, found.run, frame)

    def test_keys(self) -> None:
        """A list or map of unknown type is an error as a key, of a literal as well as of an index."""
        for source in ("{a: 1}", "{?a: optional.of(1)}", "{'b': 1}[a]", "{'b': 1}[?a]", "a in {'b': 1}"):
            value: Any
            for value in ([1], {}):
                found = compiled(source, {"a": DYN})
                self.assertRaises(Failure, found.run, found.frame_of({"a": value}, 1000))

    def test_elements(self) -> None:
        """Elements of unknown type that a function does not take are an error of the expression."""
        for source in ("a.join()", "a.join(',')", "a.sum()", "a.isSorted()", "a.sort()", "a.min()"):
            found = compiled(source, {"a": DYN})
            self.assertRaises(Failure, found.run, found.frame_of({"a": [1, {}]}, 1000))

    def test_nested_tests(self) -> None:
        """Each part of tests in each other is compiled once."""
        parts: list[Expression] = []
        compile_part = _Compiler.code

        def counted(compiler: _Compiler, part: Expression) -> Code:
            parts.append(part)
            return compile_part(compiler, part)

        self.patch(_Compiler, "code", counted)
        source = "object"
        for _ in range(10):
            source = f"dyn(has({source}.x))"
        compiled(source, {"object": DYN})
        self.assertEqual(len(parts), 2 * 10 + 1)

    def test_lazy(self) -> None:
        """A lazy member is computed when it is first asked for, once."""
        asked: list[str] = []

        def compute(name: str) -> int:
            asked.append(name)
            if name == "bad":
                raise Failure("no")
            return 4

        kind = object_type("variables", {"a": INT, "b": INT, "bad": INT})
        found = compiled("variables.a + variables.a", {"variables": kind})
        lazy = Lazy(compute)
        self.assertEqual(found.run(found.frame_of({"variables": lazy}, 1000)), 8)
        bad = compiled("variables.bad == 1 || variables.bad == 2 || true", {"variables": kind})
        self.assertTrue(bad.run(bad.frame_of({"variables": lazy}, 1000)))
        self.assertEqual(asked, ["a", "bad"])
        self.assertRaises(Fault, compiled, "variables.c", {"variables": kind})

    def test_authorizer(self) -> None:
        """A question is completed step by step, and goes to the function that came with the variable."""
        asked: list[Question] = []

        def decide(question: Question) -> Answer:
            asked.append(question)
            return Answer(allowed=question.verb == "get", reason="so")

        def told(source: str, release: tuple[int, int] = (1, 36)) -> Any:
            known = environment(release, admission=True)
            found = compiled(source, {"authorizer": AUTHORIZER}, known)
            frame = found.frame_of({"authorizer": Authorizer(decide)}, 1_000_000)
            value = found.run(frame)
            self.assertGreater(1_000_000 - frame[STEPS], 350_000)
            return value

        pods = 'authorizer.group("").resource("pods").namespace("n").name("a").subresource("log")'
        self.assertIs(told(f'{pods}.check("get").allowed()'), True)
        self.assertEqual(told('authorizer.path("/healthz").check("put").reason()'), "so")
        self.assertIs(told('authorizer.serviceAccount("n", "a").path("/x").check("get").errored()'), False)
        first, second, third = asked
        wanted = Question(verb="get", resource="pods", namespace="n", name="a", subresource="log")
        self.assertEqual(first, wanted)
        self.assertEqual((second.path, third.service_account), ("/healthz", ("n", "a")))
        selecting = 'authorizer.group("").resource("pods").labelSelector("a=b").check("list").allowed()'
        self.assertRaises(Fault, told, selecting, (1, 30))
        told(selecting)
        self.assertRaises(Fault, compiled, "authorizer.path('/x')", {"authorizer": AUTHORIZER})

    def test_messages(self) -> None:
        """Message literals are instances of types that the environment finds by name."""
        members = object_type("Object.spec", {"n": INT})
        known = environment(admission=True).writing({"Object.spec": members}.get)
        found = compiled("Object.spec{n: 1, ?n2: optional.none()}", {}, environment(admission=True).writing(
            {"Object.spec": object_type("Object.spec", {"n": INT, "n2": INT})}.get
        ))  # fmt: skip
        self.assertEqual(found.run(found.frame_of({}, 100)), Instance("Object.spec", {"n": 1}))
        for source, why in (
            ("Other{}", "undeclared reference to 'Other' (in container '')"),
            ("Object.spec{m: 1}", "undefined field 'm'"),
            ("Object.spec{n: 'a'}", "expected type of field 'n' is 'int' but provided type is 'string'"),
        ):
            self.assertEqual(self.assertRaises(Fault, compiled, source, {}, known).why, why)
        self.assertRaises(Fault, compiled, "Object.spec{n: 1}", {})

    def test_escaped_keys(self) -> None:
        """Policies can write names into JSON pointers."""
        found = compiled("jsonpatch.escapeKey('a/b~c')", {}, environment(admission=True))
        self.assertEqual(found.run(found.frame_of({}, 100)), "a~1b~0c")

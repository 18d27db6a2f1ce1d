"""The console in headless Chromium, over a real server (reference CONSOLE-1 to CONSOLE-4)."""

from __future__ import annotations

from tests.end_to_end.console_case import MAPS, ConsoleCase

HOSTILE = "<img src=x onerror='window.struck=1'><script>window.struck=1</script>"


class ConsoleTests(ConsoleCase):
    """The console as its users see it."""

    def test_sign_in(self) -> None:
        """A wrong token is asked for again; a right one shows the tree with the numbers of objects."""
        self.sign_in("wrong")
        self.until(lambda: self.run_script("return document.querySelector('.sign-in input')?.value === ''"))
        self.as_admin()
        count = "return document.querySelector('[data-kind=\"namespaces.v1.\"] output').textContent"
        self.until(lambda: self.run_script(count) == "4")
        look = "return JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.cookie"
        kept = self.run_script(look)
        self.assertNotIn(self.server.token, kept)

    def test_table(self) -> None:
        """The table follows the server; it is filtered and opened by keys."""
        self.create("one")
        self.as_admin("#configmaps.v1.")
        self.shows("default\none")
        self.create("two")
        self.shows("two")
        self.press("/", "two")
        self.until(lambda: "one" not in self.text(".rows"))
        self.press("\ue00c", "\ue007")  # Escape leaves the filter, Enter opens the chosen row
        self.until(lambda: self.run_script("return location.hash") == "#configmaps.v1./default/two")
        self.shows("name: two")
        self.server.request("DELETE", f"{MAPS}/two")
        self.shows("This object has been deleted.")
        self.press("\ue00c")
        self.shows("default\none")
        self.until(lambda: "two" not in self.text(".rows"))

    def test_owners_and_changes(self) -> None:
        """Fields are marked by their owners, and each change is shown field by field."""
        self.create("owned", data={"mine": "1"})
        applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owned"}, "data": {"theirs": "2"}}
        self.as_admin("#configmaps.v1./default/owned")
        self.shows("mine:")
        path = f"{MAPS}/owned?fieldManager=their-operator"
        self.server.request("PATCH", path, applied, "application/apply-patch+yaml").checked("apply")
        self.shows("their-operator", "theirs:")
        titles = "return [...document.querySelectorAll('.yaml')].find((e) => e.innerText.includes('theirs'))?.title"
        self.until(lambda: self.run_script(titles) == "their-operator")
        self.press("c")
        self.shows("changed by their-operator", ".data.theirs", "∅", '"2"')

    def test_edit(self) -> None:
        """An edit is tried first; what the server refuses is said, what it would change is shown and then written."""
        self.create("edited", data={"a": "1"})
        self.as_admin("#configmaps.v1./default/edited")
        self.shows("a: \"1\"")
        self.press("e")
        change = """
            const text = document.querySelector("dialog textarea");
            if (text) text.value = text.value.replace(arguments[0], arguments[1]);
            return Boolean(text);
        """
        self.until(lambda: self.run_script(change, "data:", "wrong:"))
        self.click("Try")
        self.shows("unknown field", selector="dialog")
        self.until(lambda: self.run_script(change, "wrong:", "data:"))
        self.run_script(change, 'a: "1"', 'a: "2"')
        self.click("Try")
        self.shows(".data.a", '"1" → "2"', selector="dialog")
        self.assertEqual(self.server.request("GET", f"{MAPS}/edited").json["data"], {"a": "1"})
        self.click("Write")
        self.shows('a: "2"')
        self.assertEqual(self.server.request("GET", f"{MAPS}/edited").json["data"], {"a": "2"})

    def test_delete(self) -> None:
        """A deletion is tried, confirmed, and done; finalizers are named."""
        self.create("held", metadata={"finalizers": ["example.com/held"]})
        self.as_admin("#configmaps.v1./default/held")
        self.shows("finalizers:")
        self.press("d")
        self.shows("example.com/held", selector="dialog[open]")
        self.click("Cancel")
        self.assertNotIn("deletionTimestamp", self.server.request("GET", f"{MAPS}/held").json["metadata"])
        self.press("d")
        self.shows("example.com/held", selector="dialog[open]")
        self.click("Delete")
        self.shows("deletionTimestamp")

    def test_views(self) -> None:
        """Events are listed as they come, and the server's metrics become plots."""
        self.as_admin("#events")
        involved = {"kind": "ConfigMap", "namespace": "default", "name": "one"}
        event = {"metadata": {"name": "e1"}, "involvedObject": involved, "reason": "Seen", "message": HOSTILE}
        self.server.request("POST", "/api/v1/namespaces/default/events", event).checked("event")
        self.shows("Seen", HOSTILE)
        self.press("/", "other")
        self.until(lambda: self.text(".count") == "0 of 1")
        self.go("#configmaps.v1./default/one")
        self.until(lambda: self.run_script("return !document.querySelector('.object .bar a')?.click()"))
        self.until(lambda: self.text(".count") == "1 of 1")
        self.go("#changes")
        self.create("noted", data={"a": "1"})
        self.shows("configmaps default/noted")
        self.press("\ue007")  # Enter shows the whole of the newest
        self.shows("create configmaps default/noted", "{\"a\":\"1\"}", selector="dialog[open]")
        self.click("Close")
        self.go("#server")
        self.shows("Requests a second", "Memory in MiB", "Reactor lag in ms", "Watch lag in ms")
        self.press("G")
        self.until(lambda: self.run_script("return document.querySelector('.plots').scrollTop"))
        self.press("?")
        self.shows("filter", "the tree of kinds", selector="dialog")

    def test_hostile(self) -> None:
        """Texts of objects are never markup: no script runs."""
        self.create("hostile", metadata={"annotations": {"note": HOSTILE}}, data={"text": HOSTILE})
        self.as_admin("#configmaps.v1./default/hostile")
        self.shows("onerror")
        self.go("#configmaps.v1./default/" + "%3Cimg%20src=x%20onerror=%22window.struck=1%22%3E")
        self.shows("onerror")
        self.go("#%3Cscript%3Ewindow.struck=1%3C/script%3E")
        self.shows("Choose a kind")
        self.assertIsNone(self.run_script("return window.struck"))
        self.assertEqual(self.run_script("return document.querySelectorAll('#view img, #view script').length"), 0)

    def test_rights(self) -> None:
        """An ordinary user sees what the user's rights allow, and reads why the rest is refused (reference
        CONSOLE-2).
        """
        self.server.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "reader"}})
        subject = {"kind": "ServiceAccount", "namespace": "default", "name": "reader"}
        rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        role = {"metadata": {"name": "maps"}, "rules": rules}
        self.server.request("POST", f"{rbac}/clusterroles", role).checked("role")
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "maps"}
        binding = {"metadata": {"name": "maps"}, "roleRef": role, "subjects": [subject]}
        self.server.request("POST", f"{rbac}/clusterrolebindings", binding).checked("binding")
        asked = self.server.request("POST", "/api/v1/namespaces/default/serviceaccounts/reader/token", {"spec": {}})
        self.create("one", data={"a": "1"})
        self.sign_in(asked.checked("token").json["status"]["token"])
        self.shows("ConfigMap", selector="#tree")
        self.go("#configmaps.v1.")
        self.shows("one")
        self.go("#secrets.v1.")
        self.shows('cannot list resource "secrets"')
        self.go("#configmaps.v1./default/one")
        self.shows("name: one")
        self.press("d")
        self.shows("cannot delete resource")

    def test_rights_in_a_namespace(self) -> None:
        """A user with rights in one namespace chooses it by a key: kinds, numbers and Events are its own (reference
        CONSOLE-2).
        """
        self.server.request("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "viewer"}})
        path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings"
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
        subject = {"kind": "ServiceAccount", "namespace": "default", "name": "viewer"}
        binding = {"metadata": {"name": "viewer"}, "roleRef": role, "subjects": [subject]}
        self.server.request("POST", path, binding).checked("binding")
        asked = self.server.request("POST", "/api/v1/namespaces/default/serviceaccounts/viewer/token", {"spec": {}})
        self.create("one")
        self.sign_in(asked.checked("token").json["status"]["token"])
        self.shows("ConfigMap", selector="#tree")
        self.go("#configmaps.v1.")
        self.shows("at the cluster scope", "Choose a namespace")
        self.press("n", "default", "\ue007")
        self.shows("default\none")
        self.assertEqual(self.run_script("return location.hash"), "#configmaps.v1./default")
        count = "return document.querySelector('[data-kind=\"serviceaccounts.v1.\"] output').textContent"
        self.until(lambda: self.run_script(count) == "2")
        self.press("v")
        self.until(lambda: self.text(".count") == "0")
        self.assertEqual(self.text(".problem"), "")
        self.go("#configmaps.v1.")
        self.shows("at the cluster scope")

    def test_lost_server(self) -> None:
        """A server that is out of reach is named as such, the keys work, and changes come afterwards."""
        self.create("one")
        self.as_admin("#configmaps.v1.")
        self.shows("default\none")
        self.driver.set_network_conditions(offline=True, latency=0, throughput=0)
        self.addCleanup(self.driver.delete_network_conditions)
        self.shows("does not answer", selector="#link")
        self.press("?")
        self.shows("filter", selector="dialog")
        self.click("Close")
        self.create("two")
        self.driver.delete_network_conditions()
        self.shows("two")
        self.until(lambda: self.text("#link") == "")

    def test_slow_and_lost(self) -> None:
        """A slow server is waited for, and a lost one is tried again, while the page goes on to answer keys."""
        self.create("one")
        self.as_admin()
        late = self.server.faults.add(fault="late", seconds=2, verb="list", resource="configmaps", times=1)
        cut = self.server.faults.add(fault="cut", resource="configmaps", times=1)
        self.go("#configmaps.v1.")
        self.press("?")
        self.shows("filter", selector="dialog")
        self.click("Close")
        self.shows("default\none")
        self.create("two")
        self.shows("two")
        self.assertEqual((late.struck, cut.struck), (1, 1))

    def test_many(self) -> None:
        """Of many rows only the visible ones are elements; a burst of events is drawn in frames."""
        others = len(self.server.request("GET", "/api/v1/configmaps").json["items"])
        for number in range(300):
            self.create(f"m{number:04}")
        self.as_admin("#configmaps.v1.")
        self.until(lambda: self.text(".count") == str(300 + others))
        self.assertLess(self.run_script("return document.querySelectorAll('.row').length"), 80)
        self.press("\ue010")  # End
        self.until(lambda: self.run_script("return document.querySelector('.rows').scrollTop") > 300 * 26 // 2)
        self.assertLess(self.run_script("return document.querySelectorAll('.row').length"), 80)
        for number in range(200):
            self.create(f"n{number:04}")
        self.until(lambda: self.text(".count") == str(500 + others))

    def test_phone(self) -> None:
        """On a narrow screen the tree gives way to the view, and comes back by its button."""
        self.driver.set_window_size(420, 800)
        self.addCleanup(self.driver.set_window_size, 1280, 800)
        self.as_admin("#configmaps.v1.")
        self.shows("ConfigMap", "Age")
        seen = "return document.getElementById('tree').offsetParent !== null"
        self.assertFalse(self.run_script(seen))
        reached = """
            const columns = document.querySelector(".columns");
            columns.scrollLeft = columns.scrollWidth;
            const last = [...document.querySelectorAll(".head .cell")].pop().getBoundingClientRect();
            return [document.documentElement.scrollWidth, last.right <= innerWidth];
        """
        self.assertEqual(self.run_script(reached), [420, True])
        self.run_script("document.getElementById('menu').click()")
        self.assertTrue(self.run_script(seen))

    def test_sorted_column(self) -> None:
        """The heading that the rows are sorted by is marked, with the direction."""
        self.create("one")
        self.as_admin("#configmaps.v1.")
        self.shows("default\none")
        marked = "return [...document.querySelectorAll('.head [aria-pressed=true]')].map((each) => each.className)"
        self.assertEqual(self.run_script(marked), ["cell"])
        self.run_script("document.querySelector('.head button').click()")
        self.until(lambda: self.run_script(marked) == ["cell down"])

    def test_keys_in_an_edit(self) -> None:
        """An edit begins in its text, at the first line; the filter is left for the rows by Enter."""
        self.create("one", data={"a": "1"})
        self.as_admin("#configmaps.v1.")
        self.shows("default\none")
        self.press("/", "one", "\ue007")
        focused = "const { className, tagName, selectionStart } = document.activeElement;"
        self.assertEqual(self.run_script(f"{focused} return className"), "rows")
        self.press("\ue007")
        self.shows("name: one")
        self.press("e")
        self.until(lambda: self.run_script("return document.getElementById('dialog').open"))
        self.assertEqual(self.run_script(f"{focused} return [tagName, selectionStart]"), ["TEXTAREA", 0])

    def test_enter_on_a_control(self) -> None:
        """Enter activates the link or button that has the focus, and opens the chosen row only without one."""
        self.create("one")
        self.as_admin("#configmaps.v1.")
        self.shows("default\none")
        self.press("t", "j", "\ue007")
        self.until(lambda: self.run_script("return location.hash") == "#endpoints.v1.")
        self.until(lambda: self.run_script("return document.activeElement.getAttribute('role')") == "listbox")

    def test_addresses(self) -> None:
        """The parts of an address are decoded once; an address that is not valid shows the welcome."""
        self.as_admin("#configmaps.v1./default/50%2525")
        self.shows("ConfigMap default/50%25", "Name parameter invalid: \"50%25\"")
        self.go("#configmaps.v1./default/50%")
        self.shows("Choose a kind")

    def test_new_kinds(self) -> None:
        """Kinds that are defined while the tree is shown come into it; groups stay open or closed."""
        self.as_admin("#configmaps.v1.")
        self.shows("ConfigMap")
        self.run_script("document.querySelector('details[data-group=\"\"]').open = false")
        schema = {"openAPIV3Schema": {"type": "object"}}
        spec = {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "lamps", "kind": "Lamp"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        }  # fmt: skip
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        body = {"metadata": {"name": "lamps.example.com"}, "spec": spec}
        self.server.request("POST", path, body).checked("definition")
        self.shows("Lamp", selector="#tree")
        self.assertFalse(self.run_script("return document.querySelector('details[data-group=\"\"]').open"))

    def test_dialog_of_a_left_object(self) -> None:
        """A dialog ends with its view: nothing is written to an object that is no longer shown."""
        self.create("left")
        self.as_admin("#configmaps.v1./default/left")
        self.shows("name: left")
        self.press("d")
        self.shows("Delete left?", selector="dialog[open]")
        self.go("#events")
        self.until(lambda: not self.run_script("return document.getElementById('dialog').open"))

    def test_token_that_no_header_can_have(self) -> None:
        """A token with other characters than a header's is asked for again, and not taken for a lost server."""
        self.sign_in("secret\u2026")
        self.shows("characters", "Sign in")
        self.sign_in(self.server.token)
        self.shows("ConfigMap", selector="#tree")

    def test_lost_watch_goes_on(self) -> None:
        """A watch that is cut goes on after its last event: no event is shown twice (CONSOLE-3)."""
        rule = self.server.faults.add(fault="cut", resource="events", times=1, after_events=1)
        self.as_admin("#events")
        self.shows("Events")
        involved = {"kind": "ConfigMap", "namespace": "default", "name": "one"}

        def event(name: str) -> None:
            body = {"metadata": {"name": name}, "involvedObject": involved, "reason": name}
            self.server.request("POST", "/api/v1/namespaces/default/events", body).checked("event")

        event("early")
        self.shows("early")
        event("late")
        self.shows("late")
        self.assertEqual(rule.struck, 1)
        self.assertEqual(self.run_script("return document.querySelectorAll('.row').length"), 2)

    def test_counts_are_asked_once(self) -> None:
        """At the start each kind of an open group is counted once."""
        self.as_admin()
        count = "return document.querySelector('[data-kind=\"namespaces.v1.\"] output').textContent"
        self.until(lambda: self.run_script(count) == "4")
        asked = """
            const names = performance.getEntriesByType("resource").map((each) => each.name);
            return names.filter((name) => name.endsWith("/namespaces?limit=1")).length;
        """
        self.assertEqual(self.run_script(asked), 1)

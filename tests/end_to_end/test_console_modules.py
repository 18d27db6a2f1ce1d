"""Modules of the console's page, each on its own in headless Chromium (reference CONSOLE-3)."""

from __future__ import annotations

from tests.end_to_end.console_case import ConsoleCase


class PageModuleTests(ConsoleCase):
    """Watches, the order of rows, and what is drawn again, with the page's surroundings replaced."""

    def test_ended_watches_are_spaced(self) -> None:
        """Watches that end at once are begun again with growing delays (CONSOLE-3)."""
        delays = self.in_page("""
            import("./api.js").then(async ({ Api }) => {
                const delays = [], ending = new AbortController();
                const realFetch = window.fetch, realTimeout = window.setTimeout;
                window.fetch = async () => new Response("");
                window.setTimeout = (act, delay) => {
                    if (delays.push(delay) === 3) ending.abort();
                    return realTimeout(act, 0);
                };
                await new Api(() => {}).follow("/x", async () => "1", () => {}, ending.signal);
                window.fetch = realFetch, window.setTimeout = realTimeout;
                finish(delays);
            });
        """)
        self.assertEqual(delays, [500, 1000, 2000])

    def test_record_goes_on(self) -> None:
        """The record of writes is followed from the last one on, and read anew when that is no longer kept."""
        asked = self.in_page("""
            import("./api.js").then(async ({ Api }) => {
                const asked = [], ending = new AbortController();
                const realFetch = window.fetch, gone = { type: "ERROR", object: { code: 410 } };
                const answers = [{ revision: 7 }, gone, { revision: 9 }];
                window.fetch = async (path) => {
                    asked.push(path.split("&")[1]);
                    return new Response(JSON.stringify(answers.shift()) + "\\n");
                };
                const add = (write) => asked.push(write.revision) && write.revision === 9 && ending.abort();
                await new Api(() => {}).record(add, ending.signal, () => asked.push("clear"));
                window.fetch = realFetch;
                finish(asked);
            });
        """)
        self.assertEqual(asked, ["limit=500", "clear", 7, "since=7", "limit=500", "clear", 9])

    def test_emptied(self) -> None:
        """A kind that is empty when it is listed again shows no rows of before."""
        shown = self.in_page("""
            import("./table_view.js").then(async ({ TableView }) => {
                const row = { cells: ["old"], object: { metadata: { uid: "1", name: "old" } } };
                const api = { collection: () => "/x", table: async (path, page) => page(api.next, true),
                    follow: async (path, begin) => { api.begin = begin; await begin(); } };
                api.next = { columnDefinitions: [{ name: "Name" }], rows: [row] };
                const view = new TableView(api, { kind: "X", namespaced: false }, () => {});
                document.getElementById("view").replaceChildren(view.element);
                const text = () => view.element.querySelector(".rows").innerText;
                const until = async (test) => { while (!test()) await new Promise(requestAnimationFrame); };
                await until(() => text().includes("old"));
                api.next = { rows: [] };
                await api.begin();
                await until(() => view.sortedAt + 1000 < performance.now());
                view.stop();
                finish(text());
            });
        """)
        self.assertEqual(shown, "")

    def test_order(self) -> None:
        """Rows are sorted in portions, and after a change only those that moved; numbers are sorted by value."""
        found = self.in_page("""
            import("./order.js").then(({ Order, natural }) => {
                let keys = 0, portions = 0;
                const items = Array.from({ length: 5000 }, (_, place) => ({ name: `w-${(place * 7919) % 5000}` }));
                const order = new Order((item) => (keys++, item.gone ? null : natural(item.name)));
                order.replace(items);
                const most = [];
                for (let before = 0; !order.settled; before = keys) {
                    if (portions++ && order.items.length) most.push("shown too early");
                    order.settle();
                    most.push(keys - before);
                }
                const sorted = order.items.every((item, place) => item.name === `w-${place}`);
                keys = 0;
                items[0].name = "w-2500a";
                items[1].gone = true;
                order.move(items[0]), order.move(items[1]), order.settle();
                const near = order.items.slice(2498, 2502).map((item) => item.name);
                const texts = ["b", "a10", "a9", "a", "A09b", "a010"];
                texts.sort((one, other) => natural(one) < natural(other) ? -1 : 1);
                finish([portions, Math.max(...most), sorted, keys, order.items.length, near, texts]);
            });
        """)
        self.assertEqual(found[:5], [5, 1000, True, 2, 4999])
        self.assertEqual(found[5], ["w-2499", "w-2500", "w-2500a", "w-2501"])
        self.assertEqual(found[6], ["a", "a9", "A09b", "a10", "a010", "b"])

    def test_breath(self) -> None:
        """Events that have come together are taken with pauses, in which the page draws and answers (CONSOLE-3)."""
        found = self.in_page("""
            import("./api.js").then(async ({ Api }) => {
                const realFetch = window.fetch, realNow = performance.now;
                const realPost = MessagePort.prototype.postMessage;
                const ending = new AbortController();
                let now = 0, pauses = 0, events = 0;
                const event = { type: "MODIFIED", object: { metadata: { resourceVersion: "2" } } };
                window.fetch = async () => new Response(`${JSON.stringify(event)}\n`.repeat(1000));
                performance.now = () => now;
                MessagePort.prototype.postMessage = function (given) {
                    pauses++;
                    realPost.call(this, given);
                };
                const take = () => { now++; if (++events === 1000) ending.abort(); };
                await new Api(() => {}).follow("/x", async () => "1", take, ending.signal);
                window.fetch = realFetch, performance.now = realNow;
                MessagePort.prototype.postMessage = realPost;
                finish([events, pauses]);
            });
        """)
        self.assertEqual(found, [1000, 90])

    def test_kept_rows(self) -> None:
        """A change draws its own row again, and of it only the cells that differ; the others stay as they are."""
        found = self.in_page("""
            import("./table_view.js").then(async ({ TableView }) => {
                const row = (name, ready) => ({ cells: [name, ready], object: { metadata: { uid: name, name } } });
                const columnDefinitions = [{ name: "Name" }, { name: "Ready" }];
                const rows = [row("a", "0/1"), row("b", "0/1")];
                let tell;
                const api = { collection: () => "/x",
                    table: async (path, page) => page({ columnDefinitions, rows }, true),
                    follow: async (path, begin, event) => { tell = event; await begin(); } };
                const view = new TableView(api, { kind: "X", namespaced: false }, () => {});
                document.getElementById("view").replaceChildren(view.element);
                const cells = () => [...view.element.querySelectorAll(".row .cell")];
                const until = async (test) => { while (!test()) await new Promise(requestAnimationFrame); };
                await until(() => cells().length === 4);
                const before = cells();
                tell({ type: "MODIFIED", object: { rows: [row("b", "1/1")] } });
                await until(() => cells()[3].textContent === "1/1");
                view.stop();
                finish(cells().map((cell, place) => cell === before[place]));
            });
        """)
        self.assertEqual(found, [True, True, True, False])

    def test_writer(self) -> None:
        """The writer of a change is the manager whose entry it changed, also of several in one second."""
        writers = self.in_page("""
            import("./owners.js").then(({ writerOf }) => {
                const entry = (manager, fieldsV1, second = 0) => (
                    { manager, operation: "Update", time: `2026-01-01T00:00:0${second}Z`, fieldsV1 });
                const made = (...managedFields) => ({ metadata: { managedFields } });
                const one = entry("one", { "f:a": {}, "f:b": {} }), before = made(one);
                finish([
                    writerOf(null, before),
                    writerOf(before, made(one, entry("two", { "f:c": {} }))),
                    writerOf(before, made(entry("one", { "f:a": {} }), entry("two", { "f:b": {} }))),
                    writerOf(before, made(entry("one", {}), entry("two", { "f:z": {} }, 1))),
                    writerOf(before, made()),
                ]);
            });
        """)
        self.assertEqual(writers, ["one", "two", "two", "two", ""])

    def test_watch_of_an_object(self) -> None:
        """An object is watched from its present state: its own version may have left the history."""
        found = self.in_page("""
            import("./object_view.js").then(async ({ ObjectView }) => {
                const object = { metadata: { name: "old", uid: "1", resourceVersion: "1", managedFields: [] } };
                const resource = { kind: "X", verbs: [] };
                const api = { collection: () => "/x", object: () => "/x/old", json: async () => object,
                    follow: async (path, begin, event) => {
                        const version = await begin();
                        event({ type: "ADDED", object });
                        finish([version, view.changes.length]);
                    } };
                const view = new ObjectView(api, resource, "", "old", () => {});
            });
        """)
        self.assertEqual(found, ["", 1])

    def test_plots(self) -> None:
        """The six highest lines of a plot are drawn, each in its own colour, which stays; lines at 0 are left out."""
        found = self.in_page("""
            import("./plots.js").then(({ Plot }) => {
                const plot = new Plot("Things");
                const find = (name) => [...plot.element.querySelectorAll(name)];
                const legend = () => find("li").map((each) => [each.textContent, each.className]);
                plot.add(new Map([["a", 1], ["b", 2], ["c", 0]]));
                const first = legend();
                plot.add(new Map([["a", 3], ["b", 2]]), null);
                const second = legend();
                plot.add(new Map(Array.from({ length: 9 }, (_, place) => [`n${place}`, 10 + place])));
                const many = legend(), colours = new Set(many.map(([, colour]) => colour)).size;
                const points = find("polyline")[0].getAttribute("points");
                finish([first, second, many.length, colours, points, find("figcaption")[0].textContent]);
            });
        """)
        self.assertEqual(found[:2], [
            [["b 2", "plot-0"], ["a 1", "plot-1"]],
            [["a 3", "plot-1"], ["b 2", "plot-0"]],
        ])  # fmt: skip
        self.assertEqual(found[2:], [6, 6, "149,2", "Things (at most 18)"])

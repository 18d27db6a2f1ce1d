// The objects of a kind as a table that follows the server: one list and one watch for the kind that is shown.

import { age, everyFrame, fill, h } from "./dom.js";
import { natural, Order } from "./order.js";
import { Rows } from "./rows.js";

const SORT_MS = 250; // between two sorts: rows that move more often cannot be read

export class TableView {
  /** The objects of a namespace, or of all without one; `open(resource, namespace, name)` shows an object. */
  constructor(api, resource, open, namespace = "") {
    this.api = api;
    this.resource = resource;
    this.namespace = namespace;
    this.objects = new Map(); // by uid: {meta, cells, place, gone}
    this.order = new Order((item) => this.#key(item));
    this.columns = [];
    this.text = "";
    this.column = 0; // that the rows are sorted by
    this.changed = 0;
    this.sortedAt = 0;
    this.later = 0; // a timer until the next sort
    this.stopper = new AbortController();
    this.rows = new Rows((item) => this.#row(item), (item) => open(resource, item.meta.namespace || "", item.meta.name));
    this.filter = h("input", {
      type: "search", placeholder: "Filter by name or namespace ( / )", "aria-label": "Filter",
      on: { input: () => { this.text = this.filter.value.toLowerCase(); this.#sortAll(); } },
    });
    this.count = h("span", { class: "count" });
    this.rate = h("span", { class: "count" });
    this.problem = h("p", { class: "problem", hidden: true });
    this.head = h("div", { class: "head", role: "toolbar", "aria-label": "Sort" });
    this.element = h("section", { class: "table" },
      h("div", { class: "bar" }, h("h2", {}, resource.kind), this.filter, this.count, this.rate),
      this.problem, h("div", { class: "columns" }, this.head, this.rows.element));
    this.refresh = everyFrame(() => this.#refresh());
    this.ticking = setInterval(() => this.#tick(), 1000);
    this.#run();
  }

  stop() {
    this.stopper.abort();
    clearInterval(this.ticking);
    clearTimeout(this.later);
  }

  key(event) {
    if (event.key === "/") {
      this.filter.focus();
      return true;
    }
    return this.rows.key(event);
  }

  async #run() {
    const path = this.api.collection(this.resource, this.namespace);
    try {
      await this.api.follow(path, () => this.#list(path), (event) => this.#event(event), this.stopper.signal, { table: true });
    } catch (error) {
      this.#fail(error);
    }
  }

  async #list(path) {
    let found = new Map();
    return this.api.table(path, (table, first) => {
      if (first) {
        found = new Map();
        this.objects = found;
        this.order.replace([]);
      }
      if (table.columnDefinitions) this.#show(table.columnDefinitions);
      for (const row of table.rows || []) this.#put(found, row);
      this.refresh();
    }, this.stopper.signal);
  }

  #put(objects, row) {
    const { uid, name, namespace, creationTimestamp, deletionTimestamp } = row.object.metadata;
    const meta = { uid, name, namespace, creationTimestamp, deletionTimestamp }; // owners and labels take most memory
    const item = objects.get(uid || name);
    if (!item) {
      const made = { meta, cells: row.cells, place: natural(`${namespace || ""}/${name}`), gone: false };
      objects.set(uid || name, made);
      this.order.move(made);
      return;
    }
    const before = this.#value(item);
    Object.assign(item, { meta, cells: row.cells });
    if (before !== this.#value(item)) this.order.move(item);
    this.rows.forget(item);
  }

  #remove(key) {
    const item = this.objects.get(key);
    if (!item) return;
    item.gone = true;
    this.objects.delete(key);
    this.order.move(item);
  }

  #event(event) {
    this.changed++;
    for (const row of event.object.rows || []) {
      if (event.type === "DELETED") this.#remove(row.object.metadata.uid || row.object.metadata.name);
      else this.#put(this.objects, row);
    }
    this.refresh();
  }

  #show(definitions) {
    this.columns = definitions.map((each, place) => ({ ...each, place })).filter((each) => !each.priority);
    const names = [...(this.resource.namespaced ? ["Namespace"] : []), ...this.columns.map((each) => each.name)];
    fill(this.head, names.map((name, place) =>
      h("button", { class: "cell", title: `Sort by ${name}`, on: { click: () => this.#sortBy(place) } }, name)));
    this.#markSorted();
    const widths = names.map((name) => (name === "Name" ? 2 : 1));
    this.element.style.setProperty("--template", widths.map((width) => `minmax(0, ${width}fr)`).join(" "));
    this.element.style.setProperty("--widths", widths.reduce((sum, width) => sum + width, 0));
  }

  #sortBy(column) {
    this.order.down = this.column === column && !this.order.down;
    this.column = column;
    this.#markSorted();
    this.#sortAll();
  }

  /** Show by which column the rows are sorted, and how. */
  #markSorted() {
    [...this.head.children].forEach((heading, place) => {
      heading.setAttribute("aria-pressed", String(place === this.column));
      heading.classList.toggle("down", place === this.column && this.order.down);
    });
  }

  #sortAll() {
    this.order.replace(this.objects.values());
    this.sortedAt = 0;
    this.refresh();
  }

  #cells(item) {
    const cells = this.columns.map((each) =>
      each.name === "Age" ? age(item.meta.creationTimestamp) : item.cells[each.place]);
    return this.resource.namespaced ? [item.meta.namespace || "", ...cells] : cells;
  }

  /** What an item is sorted by, before its namespace and name: the cell of the column, an age by its time. */
  #value(item) {
    const cell = this.columns[this.column - (this.resource.namespaced ? 1 : 0)];
    if (!cell) return "";
    return cell.name === "Age" ? item.meta.creationTimestamp : String(item.cells[cell.place] ?? "");
  }

  #key(item) {
    if (item.gone || !`${item.meta.namespace || ""}/${item.meta.name}`.toLowerCase().includes(this.text)) return null;
    return `${natural(this.#value(item))}\0${item.place}`;
  }

  /** Draw the rows; sort first what moved, but not in every frame of a burst, and in portions. */
  #refresh() {
    this.rows.draw();
    if (this.order.settled) return;
    const wait = this.sortedAt + SORT_MS - performance.now();
    if (wait > 0) this.#sortIn(wait);
    else if (this.order.settle()) this.#sorted();
    else this.refresh();
  }

  #sortIn(wait) {
    this.later ||= setTimeout(() => {
      this.later = 0;
      this.refresh();
    }, wait);
  }

  #sorted() {
    const { items } = this.order;
    this.rows.show(items);
    this.sortedAt = performance.now();
    const [some, all] = [items.length, this.objects.size].map((each) => each.toLocaleString("en"));
    this.count.textContent = this.text ? `${some} of ${all}` : all;
  }

  #row(item) {
    const ending = item.meta.deletionTimestamp ? " ending" : "";
    return h("div", { class: `line${ending}` }, this.#cells(item).map((cell) => {
      const text = cell === null || cell === undefined ? "" : String(cell);
      return h("span", { class: "cell", title: text }, text);
    }));
  }

  #tick() {
    this.rows.redraw(); // the ages
    this.rate.textContent = this.changed ? `${this.changed} changes/s` : "";
    this.changed = 0;
  }

  #fail(error) {
    this.problem.hidden = false;
    const hint = error.code === 403 && this.resource.namespaced && !this.namespace ? ". Choose a namespace ( n )." : "";
    this.problem.textContent = error.message + hint;
  }
}

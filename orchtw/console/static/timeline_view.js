// Changes of all kinds as they happen: the record of writes where the server keeps one, else the Events of the cluster.

import { ask, everyFrame, h } from "./dom.js";
import { Rows } from "./rows.js";

const KEPT = 2000;

/** A list of the latest items, newest first, filled by `run(add, signal, clear)`; `details(item)` are its full texts. */
class LatestView {
  constructor(title, text, row, details, run) {
    this.items = [];
    this.text = text.toLowerCase(); // that an item must have to be shown
    this.texts = new WeakMap(); // of items, once they are looked for
    this.details = details;
    this.stopper = new AbortController();
    this.rows = new Rows(row, (item) => ask(title, h("ul", { class: "fields" }, details(item).map((text) => h("li", {}, text))), [["", "Close"]]));
    this.problem = h("p", { class: "problem", hidden: true });
    this.filter = h("input", {
      type: "search", placeholder: "Filter ( / )", "aria-label": "Filter", value: text,
      on: { input: () => { this.text = this.filter.value.toLowerCase(); this.refresh(); } },
    });
    this.count = h("span", { class: "count" });
    this.element = h("section", { class: "latest" },
      h("div", { class: "bar" }, h("h2", {}, title), this.filter, this.count), this.problem, this.rows.element);
    this.refresh = everyFrame(() => this.#show());
    const clear = () => {
      this.items = [];
      this.refresh();
    };
    run((item) => this.#add(item), this.stopper.signal, clear).catch((error) => {
      if (this.stopper.signal.aborted) return;
      this.problem.hidden = false;
      this.problem.textContent = error.message;
    });
  }

  stop() {
    this.stopper.abort();
  }

  key(event) {
    if (event.key !== "/") return this.rows.key(event);
    this.filter.focus();
    return true;
  }

  #show() {
    const items = this.text ? this.items.filter((item) => this.#textOf(item).includes(this.text)) : this.items;
    const [some, all] = [items.length, this.items.length].map((each) => each.toLocaleString("en"));
    this.count.textContent = this.text ? `${some} of ${all}` : all;
    this.rows.show(items);
  }

  #textOf(item) {
    if (!this.texts.has(item)) this.texts.set(item, this.details(item).join(" ").toLowerCase());
    return this.texts.get(item);
  }

  #add(item) {
    this.items.unshift(item);
    if (this.items.length > KEPT) this.items.length = KEPT;
    this.refresh();
  }
}

const cell = (text, kind = "", shown = text) => h("span", { class: `cell ${kind}`, title: text }, shown);
const shortUser = (user) => user.replace("system:serviceaccount:", "");

/** Events of a namespace, or of all without one, at first those that have a text. */
export function eventsView(api, resources, namespace, text) {
  const resource = resources.find((each) => each.plural === "events" && each.group === "");
  const at = (event) => new Date(event.lastTimestamp || event.eventTime || event.metadata.creationTimestamp);
  const about = ({ involvedObject: it }) => `${it?.kind || ""} ${it?.namespace ? `${it.namespace}/` : ""}${it?.name || ""}`;
  const said = (event) => `${event.message || ""}${event.count > 1 ? ` (×${event.count})` : ""}`;
  const row = (event) => h("div", { class: `line ${event.type === "Warning" ? "warning" : ""}` },
    cell(at(event).toLocaleTimeString(), "time"), cell(event.reason || ""), cell(about(event)), cell(said(event), "wide"));
  const details = (event) => [at(event).toLocaleString(), event.type, event.reason, about(event), said(event)];
  return new LatestView("Events", text, row, details, async (add, signal, clear) => {
    if (!resource) throw new Error("This server has no Events.");
    const path = api.collection(resource, namespace);
    const begin = async () => {
      const list = await api.json(`${path}?limit=500`, { signal });
      clear();
      list.items.sort((one, other) => ((one.lastTimestamp || "") < (other.lastTimestamp || "") ? -1 : 1)).forEach(add);
      return list.metadata.resourceVersion;
    };
    await api.follow(path, begin, (event) => event.type !== "DELETED" && add(event.object), signal);
  });
}

/** Writes of all objects, from the server's record, at first those that have a text. */
export function writesView(api, text) {
  const verb = (write) => write.verb || write.type || "";
  const about = (write) => `${write.resource || ""} ${write.namespace ? `${write.namespace}/` : ""}${write.name || ""}`;
  const fields = (write, text) => (write.changes || []).map((each) => `${each.path}: ${text(each.old)} → ${text(each.new)}`);
  const row = (write) => h("div", { class: "line" },
    cell((write.time || "").slice(11, 23), "time"),
    cell(write.user || "", "", shortUser(write.user || "")), cell(verb(write)), cell(about(write)), cell(fields(write, short).join("; "), "wide"));
  const details = (write) => [write.time, write.user, `${verb(write)} ${about(write)}`, ...fields(write, whole)];
  return new LatestView("Changes", text, row, details, (add, signal, clear) => api.record(add, signal, clear));
}

const whole = (value) => (value === undefined ? "∅" : JSON.stringify(value));
const short = (value) => {
  const text = whole(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
};

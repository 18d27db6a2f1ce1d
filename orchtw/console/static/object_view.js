// One object: its YAML with the owners of its fields, its changes, and its edit and deletion, tried by dry run first.

import { differences, pathText } from "./diff.js";
import { ask, everyFrame, fill, h, scroll } from "./dom.js";
import { managers, ownersOf, writerOf } from "./owners.js";
import { Rows } from "./rows.js";
import { yamlLines } from "./yaml.js";

const COLOURS = 8; // of owners, in style.css
const KEPT = 200; // changes
const LONGEST = 2000; // characters of a value on one line: layout of more takes too long

export class ObjectView {
  constructor(api, resource, namespace, name, leave) {
    Object.assign(this, { api, resource, namespace, name, leave });
    this.path = api.object(resource, namespace, name);
    this.current = null;
    this.managers = [];
    this.changes = [];
    this.shown = "yaml";
    this.stopper = new AbortController();
    this.refresh = everyFrame(() => this.#refresh());
    this.lines = new Rows((line) => this.#line(line), () => {});
    this.legend = h("p", { class: "legend" });
    this.timeline = h("ol", { class: "changes", tabindex: "0", "aria-label": "Changes" });
    this.problem = h("p", { class: "problem", hidden: true });
    this.body = h("div", { class: "body" });
    const can = (verb) => resource.verbs.includes(verb);
    const button = (label, act, shown = true) => (shown ? h("button", { on: { click: act } }, label) : null);
    const title = `${resource.kind} ${namespace ? `${namespace}/` : ""}${name}`;
    this.element = h("section", { class: "object" },
      h("div", { class: "bar" },
        button("←", leave),
        h("h2", {}, title),
        button("YAML", () => this.#choose("yaml")),
        button("Changes", () => this.#choose("changes")),
        h("a", { class: "button", href: `#events/${encodeURIComponent(title)}` }, "Events"),
        button("Edit (e)", () => this.edit(), can("update")),
        button("Delete (d)", () => this.remove(), can("delete"))),
      this.problem, this.legend, this.body);
    this.#choose("yaml");
    this.#run();
  }

  stop() {
    this.stopper.abort();
  }

  key(event) {
    if (event.key === "e" && this.resource.verbs.includes("update")) this.edit();
    else if (event.key === "d" && this.resource.verbs.includes("delete")) this.remove();
    else if (event.key === "c") this.#choose("changes");
    else if (event.key === "y") this.#choose("yaml");
    else if (event.key === "Escape") this.leave();
    else if (this.shown === "changes") return scroll(this.timeline, event.key);
    else return this.lines.key(event);
    return true;
  }

  #choose(shown) {
    this.shown = shown;
    fill(this.body, shown === "yaml" ? this.lines.element : this.timeline);
    this.refresh();
  }

  async #run() {
    const collection = this.api.collection(this.resource, this.namespace);
    const query = `&fieldSelector=${encodeURIComponent(`metadata.name=${this.name}`)}`;
    try {
      await this.api.follow(collection, () => this.#get(), (event) => this.#event(event), this.stopper.signal, { query });
    } catch (error) {
      this.#fail(error);
    }
  }

  async #get() {
    const found = await this.api.json(this.path, { signal: this.stopper.signal });
    this.#take("read", found);
    return ""; // a watch from the object's own version is refused once the history has gone past that
  }

  #event(event) {
    this.#take(event.type === "DELETED" ? "deleted" : "changed", event.object);
  }

  #take(how, next) {
    const before = this.current;
    if (before && before.metadata.resourceVersion === next.metadata.resourceVersion && how !== "deleted") return;
    const fields = before ? differences(before, next) : [];
    const by = writerOf(before, next);
    this.changes.unshift({ how, at: new Date(), version: next.metadata.resourceVersion, fields, by });
    this.changes.length = Math.min(this.changes.length, KEPT);
    this.current = next;
    this.problem.hidden = how !== "deleted";
    this.problem.textContent = how === "deleted" ? "This object has been deleted." : "";
    this.refresh();
  }

  #refresh() {
    if (!this.current) return;
    if (this.shown === "changes") {
      this.legend.hidden = true;
      fill(this.timeline, this.changes.map((each) => (each.element ||= change(each))));
      return;
    }
    const { managedFields, ...meta } = this.current.metadata;
    const found = managers(this.current);
    this.legend.hidden = false;
    fill(this.legend, found.map(({ name }, place) => h("span", { class: `owner owner-${place % COLOURS}` }, name)));
    const shown = { ...this.current, metadata: meta };
    this.managers = found;
    this.lines.show(yamlLines(shown));
  }

  #line({ text, path }) {
    const owners = ownersOf(path, this.current, this.managers);
    const colour = owners.length ? `owner owner-${owners[0] % COLOURS}` : "";
    const title = owners.map((place) => this.managers[place].name).join(", ");
    return h("div", { class: `line yaml ${colour}`, title }, shortened(text));
  }

  async edit() {
    if (!this.current) return;
    const text = h("textarea", { spellcheck: "false", "aria-label": "YAML" });
    const { managedFields, ...meta } = this.current.metadata;
    text.value = yamlLines({ ...this.current, metadata: meta }).map((line) => line.text).join("\n");
    for (let said = ""; ;) {
      const problem = said ? h("p", { class: "problem" }, said) : null;
      const answer = await ask(`Edit ${this.name}`, [problem, text], [["try", "Try (dry run)"], ["", "Cancel"]]);
      if (answer !== "try") return;
      try {
        const tried = await this.#put(text.value, "?dryRun=All&fieldValidation=Strict");
        if (this.stopper.signal.aborted) return;
        const fields = differences(this.current, tried);
        const sure = await ask("Write these changes?", list(fields), [["write", "Write"], ["back", "Back"], ["", "Cancel"]]);
        if (sure === "write") await this.#put(text.value, "?fieldValidation=Strict");
        if (sure !== "back") return;
        said = "";
      } catch (error) {
        if (this.stopper.signal.aborted) return;
        said = error.message;
      }
    }
  }

  #put(yaml, query) {
    const headers = { "Content-Type": "application/yaml" };
    return this.api.json(this.path + query, { method: "PUT", body: yaml, headers });
  }

  async remove() {
    const meta = this.current?.metadata;
    if (!meta) return;
    const removal = (dryRun) => this.api.json(this.path, {
      method: "DELETE",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ preconditions: { uid: meta.uid }, ...(dryRun ? { dryRun: ["All"] } : {}) }),
    });
    try {
      await removal(true);
      if (this.stopper.signal.aborted) return;
      const held = meta.finalizers?.length ? `It stays until these finalizers are removed: ${meta.finalizers.join(", ")}` : "";
      const sure = await ask(`Delete ${this.name}?`, held || "The server would delete it.", [["delete", "Delete"], ["", "Cancel"]]);
      if (sure === "delete") await removal(false);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error) {
    this.problem.hidden = false;
    this.problem.textContent = error.message;
  }
}

const shortened = (text) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}… (${text.length} characters)` : text);
const value = (field) => (field === undefined ? "∅" : shortened(JSON.stringify(field)));

function list(fields) {
  if (!fields.length) return h("p", {}, "Nothing would change.");
  return h("ul", { class: "fields" }, fields.map(({ path, before, after }) =>
    h("li", {}, h("code", {}, pathText(path)), " ", h("del", {}, value(before)), " → ", h("ins", {}, value(after)))));
}

function change({ how, at, version, fields, by }) {
  const writer = by && (how === "read" ? `, last changed by ${by}` : ` by ${by}`);
  return h("li", {}, h("p", {}, `${at.toLocaleTimeString()} ${how}${writer}, version ${version}`),
    fields.length ? list(fields) : null);
}

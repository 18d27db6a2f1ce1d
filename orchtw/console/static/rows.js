// A list of any length of which only the visible rows are elements.

import { everyFrame, fill, h } from "./dom.js";

const HEIGHT = 26; // pixels of a row, as in style.css
const MORE = 8; // rows above and below the visible ones

export class Rows {
  /** `row(item, index)` makes the element of a row; `open(item)` is called for Enter and clicks. */
  constructor(row, open) {
    this.row = row;
    this.open = open;
    this.items = [];
    this.chosen = 0;
    this.drawn = new Map(); // elements by item
    this.stale = new Set(); // items whose elements are to be made again
    this.body = h("div", { class: "rows-body" });
    this.element = h("div", { class: "rows", tabindex: "0", role: "listbox", "aria-label": "Rows", on: { scroll: () => this.draw() } }, this.body);
    this.draw = everyFrame(() => this.#draw());
    this.element.addEventListener("click", (event) => {
      const line = event.target.closest("[data-index]");
      if (line) this.choose(Number(line.dataset.index), true);
    });
  }

  show(items) {
    this.items = items;
    this.chosen = Math.min(this.chosen, Math.max(0, items.length - 1));
    this.draw();
  }

  /** Have the row of an item made again when it is drawn next. */
  forget(item) {
    this.stale.add(item);
  }

  /** Make all rows again. */
  redraw() {
    for (const item of this.drawn.keys()) this.stale.add(item);
    this.draw();
  }

  choose(index, open = false) {
    if (!this.items.length) return;
    this.chosen = Math.max(0, Math.min(index, this.items.length - 1));
    this.#fit(); // before the next frame: a list cannot scroll beyond the height that it has
    const top = this.chosen * HEIGHT;
    const view = this.element;
    if (top < view.scrollTop) view.scrollTop = top;
    if (top + HEIGHT > view.scrollTop + view.clientHeight) view.scrollTop = top + HEIGHT - view.clientHeight;
    this.draw();
    if (open) this.open(this.items[this.chosen]);
  }

  /** Handle a key; returns whether it was one of the list's. */
  key(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / HEIGHT) - 1);
    const steps = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) this.choose(this.chosen + steps[event.key]);
    else if (event.key === "Home" || event.key === "g") this.choose(0);
    else if (event.key === "End" || event.key === "G") this.choose(this.items.length - 1);
    else if (event.key === "Enter") this.choose(this.chosen, true);
    else return false;
    return true;
  }

  /** Draw the rows in sight: those that were drawn before are kept, and nothing is set that is so already. */
  #draw() {
    const first = Math.max(0, Math.floor(this.element.scrollTop / HEIGHT) - MORE);
    const last = Math.min(this.items.length, first + Math.ceil(this.element.clientHeight / HEIGHT) + 2 * MORE);
    const drawn = new Map();
    for (let index = first; index < last; index++) {
      const item = this.items[index];
      drawn.set(item, this.#place(this.#line(item), index));
    }
    this.drawn = drawn;
    this.stale.clear();
    const lines = [...drawn.values()];
    const same = lines.length === this.body.children.length && lines.every((line, place) => line === this.body.children[place]);
    if (!same) fill(this.body, lines);
    this.#set(this.body.style, "paddingTop", `${first * HEIGHT}px`);
    this.#fit();
    if (this.chosen >= first && this.chosen < last) this.element.setAttribute("aria-activedescendant", `row-${this.chosen}`);
    else this.element.removeAttribute("aria-activedescendant");
  }

  /** Give the list the height of all rows. */
  #fit() {
    this.#set(this.body.style, "height", `${this.items.length * HEIGHT}px`);
  }

  /** The element of an item: one that is drawn is kept, with the cells that are still true. */
  #line(item) {
    const kept = this.drawn.get(item);
    if (kept && !this.stale.has(item)) return kept;
    const made = this.row(item);
    made.classList.add("row");
    made.setAttribute("role", "option");
    if (kept?.className !== made.className || kept.childElementCount !== made.childElementCount) return made;
    [...made.children].forEach((cell, place) => {
      if (!cell.isEqualNode(kept.children[place])) kept.children[place].replaceWith(cell);
    });
    return kept;
  }

  #place(line, index) {
    this.#set(line, "id", `row-${index}`);
    this.#set(line.dataset, "index", String(index));
    this.#set(line, "ariaSelected", String(index === this.chosen));
    return line;
  }

  #set(object, name, value) {
    if (object[name] !== value) object[name] = value;
  }
}

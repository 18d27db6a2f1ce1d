// A plot of the latest values of some lines: those that were highest are drawn, each in a colour that it keeps.

import { fill, h } from "./dom.js";

export const POINTS = 150; // values of a line
const MOST_LINES = 6; // as many as style.css has colours for
const SVG = "http://www.w3.org/2000/svg";

export class Plot {
  #lines = new Map(); // by name: values, the oldest first
  #colours = new Map(); // by name, of the lines that are drawn
  #title;
  #caption = h("figcaption");
  #picture = document.createElementNS(SVG, "svg");
  #legend = h("ul");

  constructor(title) {
    this.#title = title;
    this.#picture.setAttribute("viewBox", `0 0 ${POINTS} 50`);
    this.#picture.setAttribute("preserveAspectRatio", "none");
    this.#picture.setAttribute("role", "img");
    this.#picture.setAttribute("aria-label", title);
    this.element = h("figure", {}, this.#caption, this.#picture, this.#legend);
  }

  /** Add the present value of each line: a Map by name. A line that has none is at `other`; null leaves a gap. */
  add(values, other = 0) {
    for (const name of new Set([...this.#lines.keys(), ...values.keys()])) {
      const line = this.#lines.get(name) || [];
      line.push(values.get(name) ?? other);
      if (line.length > POINTS) line.shift();
      this.#lines.set(name, line);
    }
    this.#draw();
  }

  /** The lines with the highest values; one that has been at 0 all the time is not among them. */
  #shown() {
    const lines = [...this.#lines].map(([name, values]) => ({ name, values, highest: Math.max(...values) }));
    return lines.filter(({ highest }) => highest > 0).sort((one, other) => other.highest - one.highest).slice(0, MOST_LINES);
  }

  #draw() {
    const shown = this.#shown();
    const highest = shown[0]?.highest || 0;
    this.#colour(shown);
    this.#caption.textContent = `${this.#title} (at most ${number(highest)})`;
    this.#picture.replaceChildren(...shown.map((line) => this.#line(line, highest)));
    const present = (values) => values[values.length - 1];
    shown.sort((one, other) => present(other.values) - present(one.values));
    fill(this.#legend, shown.map(({ name, values }) =>
      h("li", { class: this.#style(name) }, `${name || "all"} ${present(values) === null ? "–" : number(present(values))}`)));
  }

  /** Give each line that is new among those shown a colour that none of the others has. */
  #colour(shown) {
    const before = this.#colours;
    this.#colours = new Map(shown.filter(({ name }) => before.has(name)).map(({ name }) => [name, before.get(name)]));
    const free = Array.from({ length: MOST_LINES }, (_, place) => place)
      .filter((place) => ![...this.#colours.values()].includes(place));
    for (const { name } of shown) if (!this.#colours.has(name)) this.#colours.set(name, free.shift());
  }

  #style(name) {
    return `plot-${this.#colours.get(name)}`;
  }

  #line({ name, values }, highest) {
    const line = document.createElementNS(SVG, "polyline");
    const start = POINTS - values.length;
    const points = values.map((value, index) => (value === null ? "" : `${start + index},${49 - (47 * value) / highest}`));
    line.setAttribute("points", points.filter(Boolean).join(" "));
    line.setAttribute("class", this.#style(name));
    return line;
  }
}

const number = (value) => (value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3))));

// Items in the order of their keys: only what moved is sorted again, and no more of it at once than a frame has time for.

const PORTION = 1000; // items sorted at once: a few milliseconds

export class Order {
  #key;
  #moved = new Set();
  #next = []; // in order, without what is yet to be sorted
  #settled = true;

  /** `key(item)` is the text that an item is sorted by; null: the item is not shown. */
  constructor(key) {
    this.#key = key;
    this.items = [];
    this.down = false;
  }

  /** Have one item put in its place: it is new, has another key, or is gone. */
  move(item) {
    this.#moved.add(item);
    this.#settled = false;
  }

  /** Have all items sorted anew; the present order stays until that is done. */
  replace(items) {
    this.#next = [];
    this.#moved = new Set(items);
    this.#settled = false;
  }

  get settled() {
    return this.#settled;
  }

  /** Sort a portion of what moved. Returns whether all is sorted; `items` changes only then. */
  settle() {
    const portion = new Set();
    for (const item of this.#moved) if (portion.add(item).size === PORTION) break;
    const kept = this.#next.filter((item) => !portion.has(item));
    for (const item of portion) {
      this.#moved.delete(item);
      item.key = this.#key(item);
    }
    const put = [...portion].filter((item) => item.key !== null).sort((one, other) => this.#compare(one, other));
    this.#next = this.#merge(kept, put);
    this.#settled = this.#moved.size === 0;
    if (this.#settled) this.items = this.#next;
    return this.#settled;
  }

  #merge(kept, put) {
    const merged = [];
    let place = 0;
    for (const item of kept) {
      while (place < put.length && this.#compare(put[place], item) < 0) merged.push(put[place++]);
      merged.push(item);
    }
    while (place < put.length) merged.push(put[place++]);
    return merged;
  }

  #compare({ key: one }, { key: other }) {
    if (one === other) return 0;
    return one < other === this.down ? 1 : -1;
  }
}

/** A text whose order by code units is that of its words and numbers: each number is preceded by its length. */
export function natural(text) {
  return text.toLowerCase().replace(/\d+/g, (digits) => {
    const number = digits.replace(/^0+(?=\d)/, "");
    return String.fromCharCode(0x30 + number.length) + number;
  });
}

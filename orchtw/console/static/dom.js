// Elements: text is only ever set as text, so that no name or value of an object becomes markup.

/** Make an element: `h("a", {href: "#x", class: "y", on: {click}}, child, …)`; a child is an element or text. */
export function h(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) made.addEventListener(event, handler);
    } else if (value === true) {
      made.setAttribute(name, "");
    } else if (value !== false && value !== undefined && value !== null) {
      made.setAttribute(name, value);
    }
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Replace the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** Call a function in the next frame, once for all calls before it: frames are dropped, not queued. */
export function everyFrame(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };
}

const LINE = 26; // pixels that a key moves

/** Scroll an element by the keys that move in a list; returns whether the key is one of them. */
export function scroll(element, key) {
  const [page, end] = [element.clientHeight - LINE, element.scrollHeight];
  const steps = { j: LINE, ArrowDown: LINE, k: -LINE, ArrowUp: -LINE, PageDown: page, PageUp: -page, Home: -end, g: -end, End: end, G: end };
  if (!(key in steps)) return false;
  element.scrollTop += steps[key];
  return true;
}

/** A time as the tables of the API show ages. */
export function age(timestamp, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - Date.parse(timestamp)) / 1000));
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}

const dialog = () => document.getElementById("dialog");

let close = () => {};

/** Close the dialog that is shown, if any. */
export const dismiss = () => close("");

/** Show a dialog in place of another; resolves with the value of the button that closed it, "" if it was dismissed. */
export function ask(title, content, buttons) {
  dismiss();
  const box = dialog();
  return new Promise((resolve) => {
    close = (value) => {
      box.close();
      resolve(value);
    };
    box.oncancel = dismiss;
    fill(
      box,
      h("h2", {}, title),
      h("div", { class: "content" }, content),
      h("p", { class: "buttons" },
        buttons.map(([value, label]) => h("button", { value, on: { click: () => close(value) } }, label))),
    );
    box.showModal();
    const first = box.querySelector("textarea, button");
    if (first?.matches("textarea")) first.setSelectionRange(0, 0);
    first?.focus();
  });
}

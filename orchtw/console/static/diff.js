// Differences between two states of an object, field by field.

const HIDDEN = new Set(["metadata.managedFields", "metadata.resourceVersion"]);

/** [{path, before, after}] of all fields that differ; a list is compared item by item. */
export function differences(before, after, path = []) {
  if (HIDDEN.has(path.join("."))) return [];
  if (!both(before, after)) {
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }];
  }
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => differences(before[key], after[key], [...path, key]));
}

function both(one, other) {
  const nested = (value) => value !== null && typeof value === "object";
  return nested(one) && nested(other) && Array.isArray(one) === Array.isArray(other);
}

/** A path as people write it. */
export function pathText(path) {
  return path.map((part) => (/^[\w-]+$/.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`)).join("");
}

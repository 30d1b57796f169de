// Small helpers. Nothing here, or anywhere else, makes elements from text: names, errors and
// payloads are shown by textContent alone. What is the same already is left alone, so that a
// refresh neither flickers nor takes the focus or a selection away.

export const $ = (id) => document.getElementById(id);

/** Return a new element; strings among the children become text. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function setText(element, text) {
  const wanted = text ?? "";
  if (element.textContent !== wanted) element.textContent = wanted;
}

/** Set an attribute; null takes it away. */
export function setAttribute(element, name, value) {
  if (value === null || value === undefined) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== String(value)) {
    element.setAttribute(name, value);
  }
}

export function show(element, visible = true) {
  if (element.hidden === visible) element.hidden = !visible;
}

/** Return the elements of a part of the page by their data-f. */
export function fieldsOf(root) {
  const fields = {};
  for (const element of root.querySelectorAll("[data-f]")) fields[element.dataset.f] = element;
  return fields;
}

/** Return a copy of a template's element. */
export function copyOf(id) {
  return $(id).content.firstElementChild.cloneNode(true);
}

/** Replace the children only where what they are made of has changed. */
export function rebuild(element, value, build) {
  const text = JSON.stringify(value);
  if (element.tsumugiBuiltFrom === text) return;
  element.tsumugiBuiltFrom = text;
  element.replaceChildren(...build(value));
}

/**
 * Rows of a list, kept by key: a row that stays is updated where it is.
 * `create(item)` returns `{element, update(item)}`.
 */
export class Rows {
  constructor(parent, keyOf, create) {
    Object.assign(this, { parent, keyOf, create, rows: new Map() });
  }

  update(items) {
    // First those that go: a row that is moved out of their way would lose the focus.
    const keys = new Set(items.map(this.keyOf));
    for (const [key, row] of this.rows) {
      if (!keys.has(key)) this.#remove(key, row);
    }
    let place = this.parent.firstElementChild;
    for (const item of items) {
      const key = this.keyOf(item);
      const row = this.rows.get(key) ?? this.create(item);
      this.rows.set(key, row);
      if (row.element === place) {
        place = this.#after(row);
      } else {
        this.parent.insertBefore(row.element, place);
        if (row.more) row.element.after(row.more);
      }
      row.update(item);
    }
  }

  #remove(key, row) {
    row.more?.remove();
    row.element.remove();
    this.rows.delete(key);
  }

  /** A row may have opened details, an element that follows it. */
  #after(row) {
    const next = row.element.nextElementSibling;
    return next !== null && next === row.more ? next.nextElementSibling : next;
  }
}

// Elements, as the pages' scripts make and find them.

export const byId = (id) => document.getElementById(id);

/** The elements below `root` that are marked as figures, by their names. */
export function figuresOf(root, kind) {
  return Object.fromEntries([...root.querySelectorAll(`[data-${kind}]`)].map((marked) => [marked.dataset[kind], marked]));
}

/** An element with a class, and texts or elements within. Texts stay texts, whatever stands in them. */
export function element(name, className, ...content) {
  const made = document.createElement(name);
  made.className = className;
  made.append(...content);
  return made;
}

/** An element of a drawing. */
export function svg(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

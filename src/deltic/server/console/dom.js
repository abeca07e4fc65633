// Makes elements: h("a", {href: "#/", class: "x", onclick: f}, "text", other). Styles are set by properties, as the CSP wants it.
const SVG = "http://www.w3.org/2000/svg";

export const h = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

export const s = (tag, attributes, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("aria-")) element.setAttribute(name, String(value));
    else if (value === undefined || value === null || value === false) continue;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else if (name === "dataset") Object.assign(element.dataset, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const by = (id) => document.getElementById(id);

// Sets a text only where it is another one, so that a selection and the layout stay.
export function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export const isTyping = (event) => event.target.matches?.("input, textarea, select, [contenteditable]");

export const link = (name, text) => h("a", { href: pageOf(name), class: "name" }, text ?? name);

export const pageOf = (name, tab) => `#/view/${encodeURIComponent(name)}${tab ? `/${tab}` : ""}`;

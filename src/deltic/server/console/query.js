// A box for SQL, with completion of names and a history, and the rows of the last answer.
import { by, h } from "./dom.js";
import { count, seconds, value } from "./format.js";
import { isNumeric } from "./live.js";
import * as server from "./server.js";
import { store } from "./store.js";

const KEPT = 100, OFFERED = 12;
const HISTORY = "deltic history", DRAFT = "deltic draft";
const KEYWORDS = "SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT JOIN LEFT RIGHT FULL OUTER ON USING AS AND OR NOT NULL IS IN EXISTS BETWEEN LIKE CASE WHEN THEN ELSE END UNION ALL DISTINCT WITH VALUES INSERT INTO UPDATE SET DELETE CREATE VIEW TABLE DROP EXPLAIN WHY COUNT".split(" ");

const kept = () => JSON.parse(localStorage.getItem(HISTORY) ?? "[]");

export class QueryPage {
  constructor() {
    this.place = -1;
    this.box = h("textarea", { rows: 6, spellcheck: "false", "aria-label": "SQL", placeholder: "SELECT …   Ctrl Enter runs it, Tab completes, Alt ↑ is the one before", autocapitalize: "off",
      role: "combobox", "aria-expanded": "false", "aria-controls": "offers",
      oninput: () => this.changed(), onkeydown: (event) => this.key(event), onblur: () => setTimeout(() => this.offer([]), 150) });
    this.box.value = sessionStorage.getItem(DRAFT) ?? "";
    this.element = h("div", { class: "query-page" },
      h("div", { class: "editor" }, this.box, (this.offers = h("ul", { id: "offers", class: "offers", role: "listbox", hidden: true }))),
      h("div", { class: "bar-of-tools" }, (this.runs = h("button", { class: "main", onclick: () => this.run() }, "Run")), (this.state = h("span", { class: "state" }))),
      (this.answer = h("div", { class: "answer" })),
      h("details", { class: "history" }, h("summary", {}, "History"), (this.past = h("ul"))));
    this.list();
  }

  update() {}

  focus() {
    this.box.focus();
  }

  changed() {
    sessionStorage.setItem(DRAFT, this.box.value);
    this.place = -1;
    this.offer(completions(this.before()));
  }

  before() {
    return this.box.value.slice(0, this.box.selectionStart);
  }

  key(event) {
    const isOpen = !this.offers.hidden, { key } = event;
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) this.run();
    else if (isOpen && (key === "ArrowDown" || key === "ArrowUp")) this.move(key === "ArrowDown" ? 1 : -1);
    else if (isOpen && (key === "Tab" || (key === "Enter" && this.chosen >= 0))) this.take(Math.max(0, this.chosen));
    else if (isOpen && key === "Escape") this.offer([]);
    else if (event.altKey && (key === "ArrowUp" || key === "ArrowDown")) this.recall(key === "ArrowUp" ? 1 : -1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Shows names below the caret.
  offer(names) {
    this.offered = names;
    this.chosen = -1;
    this.offers.hidden = !names.length;
    this.box.setAttribute("aria-expanded", String(names.length > 0));
    this.offers.replaceChildren(...names.map(([name, kind], i) => h("li", { role: "option", onmousedown: (event) => (event.preventDefault(), this.take(i)) }, name, h("small", {}, kind))));
    if (!names.length) return;
    const lines = this.before().split("\n"), style = getComputedStyle(this.box);
    this.offers.style.left = `calc(${Math.min(lines.at(-1).length - word(this.before()).length, 60)}ch + 0.8rem)`;
    this.offers.style.top = `${lines.length * parseFloat(style.lineHeight) + 14 - this.box.scrollTop}px`;
  }

  move(step) {
    this.chosen = (this.chosen + step + this.offered.length) % this.offered.length;
    [...this.offers.children].forEach((item, i) => item.setAttribute("aria-selected", i === this.chosen));
    this.offers.children[this.chosen].scrollIntoView({ block: "nearest" });
  }

  take(i) {
    const [name] = this.offered[i], end = this.box.selectionStart, begin = end - word(this.before()).length;
    this.box.setRangeText(/^\w+$/.test(name) ? name : `\`${name}\``, begin, end, "end");
    this.changed();
    this.offer([]);
  }

  recall(step) {
    const past = kept();
    this.place = Math.max(-1, Math.min(past.length - 1, this.place + step));
    this.box.value = this.place < 0 ? "" : past[this.place];
  }

  async run() {
    const text = this.box.value.trim();
    if (!text) return;
    remember(text);
    this.list();
    this.runs.disabled = true;
    this.state.textContent = "running";
    try {
      this.show(await server.query(text));
    } catch (error) {
      this.state.textContent = "";
      this.answer.replaceChildren(h("pre", { class: "error", role: "alert" }, error.message));
    }
    this.runs.disabled = false;
  }

  show({ columns, rows, message, epoch, seconds: took, truncated }) {
    this.state.textContent = [columns && `${count(rows.length)} row${rows.length === 1 ? "" : "s"}${truncated ? ", further ones are left out" : ""}`, took !== undefined && seconds(took), `epoch ${epoch}`].filter(Boolean).join(" · ");
    this.answer.replaceChildren(columns ? table(columns, rows) : h("pre", {}, message));
  }

  list() {
    this.past.replaceChildren(...kept().map((text) => h("li", {}, h("button", { onclick: () => ((this.box.value = text), this.changed(), this.offer([]), this.box.focus()) }, text))));
  }

  escape() {
    return false;
  }

  close() {}
}

function remember(text) {
  localStorage.setItem(HISTORY, JSON.stringify([text, ...kept().filter((other) => other !== text)].slice(0, KEPT)));
}

const word = (text) => /[\p{L}\p{N}_$]*$/u.exec(text)[0];

// What may stand at the end of a text: columns of a relation behind its name and a dot; else relations, the columns of those
// that the text names, functions and keywords.
export function completions(text) {
  const begun = word(text), qualifier = /([\p{L}\p{N}_$]+)\.[\p{L}\p{N}_$]*$/u.exec(text)?.[1];
  if (!begun && !qualifier) return [];
  const columns = (relation) => relation.columns.map((column) => [column.name, `${column.type} of ${relation.name}`]);
  const known = qualifier && (store.relations.get(qualifier) ?? store.relations.get(aliased(text, qualifier)));
  if (qualifier) return known ? fitting(columns(known), begun) : [];
  const named = [...store.relations.values()].filter((relation) => new RegExp(`\\b${RegExp.escape?.(relation.name) ?? relation.name}\\b`).test(text));
  const offers = [...[...store.relations.values()].map((relation) => [relation.name, relation.kind]), ...named.flatMap(columns), ...store.functions.map((name) => [name, "function"]), ...KEYWORDS.map((name) => [name, ""])];
  return fitting(offers, begun).filter(([name]) => name !== begun);
}

// The relation that stands behind an alias: FROM orders AS o, JOIN orders o.
const aliased = (text, alias) => new RegExp(`([\\p{L}\\p{N}_$]+)\\s+(?:as\\s+)?${alias}\\b`, "iu").exec(text)?.[1];

function fitting(offers, begun) {
  const wanted = begun.toLowerCase(), seen = new Set();
  return offers.filter(([name]) => name.toLowerCase().startsWith(wanted) && !seen.has(name) && seen.add(name)).slice(0, OFFERED);
}

function table(columns, rows) {
  const cls = (i, v) => (v === null ? "null" : isNumeric(columns[i]) ? "number" : "");
  return h("div", { class: "scroll" }, h("table", { class: "rows" },
    h("thead", {}, h("tr", {}, columns.map((column) => h("th", { title: column.type, class: isNumeric(column) ? "number" : "" }, column.name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((v, i) => h("td", { class: cls(i, v) }, value(v))))))));
}

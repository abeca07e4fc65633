// Why a row is there: the rule or operator that makes it, and what that rests on, down to rows of tables.
import { h, pageOf } from "./dom.js";
import { value } from "./format.js";
import * as server from "./server.js";

const OPEN = 2;

export class Why {
  constructor() {
    this.element = h("aside", { class: "why", hidden: true, "aria-label": "Why", "aria-live": "polite" });
  }

  async show(name, row) {
    const asked = (this.asked = Symbol());
    this.before ??= document.activeElement;
    this.element.hidden = false;
    this.fill(name, row, h("p", { class: "none" }, "searching"));
    try {
      const told = await server.why(name, row);
      if (this.asked === asked) this.fill(name, row, tree(told));
    } catch (error) {
      if (this.asked === asked) this.fill(name, row, h("pre", { class: "error" }, error.message));
    }
  }

  fill(name, row, body) {
    this.element.replaceChildren(
      h("button", { class: "close", title: "Close (Esc)", onclick: () => this.close() }, "×"),
      h("h2", {}, "Why"), h("dl", { class: "row" }, Object.entries(row).map(([column, v]) => [h("dt", {}, column), h("dd", {}, value(v))])), body);
  }

  close() {
    if (this.element.hidden) return false;
    this.element.hidden = true;
    this.asked = null;
    this.before?.focus?.();
    this.before = null;
    return true;
  }
}

// Steps are numbered, and may be premises of several others: one that stands above is named alone.
function tree(told) {
  const seen = new Set();
  const height = told.height === 1 ? "one step from tables" : `${told.height} steps from tables`;
  return h("div", { class: "tree" }, h("p", { class: "none" }, `as of epoch ${told.epoch}, ${told.height ? height : "a row of a table"}`), step(told.steps, 0, 0, seen));
}

function step(steps, number, depth, seen) {
  const it = steps[number];
  const head = [h("a", { href: `${pageOf(it.relation, "rows")}`, class: `name ${it.by === "table" ? "table" : "view"}` }, it.relation), ` (${it.row.map(value).join(", ")})`, it.at === null || it.at === undefined ? null : h("small", { title: "the iteration at which it appears" }, ` @${it.at}`)];
  if (seen.has(number) && it.premises.length) return h("div", { class: "leaf" }, head, h("small", {}, " as above"));
  seen.add(number);
  const rule = it.by === "table" ? null : h("code", { title: it.place }, it.by);
  if (!it.premises.length) return h("div", { class: "leaf" }, head, it.cut ? h("small", {}, " … not followed further") : null, rule);
  const fold = h("details", { open: depth < OPEN }, h("summary", {}, head, h("small", {}, ` from ${it.premises.length}`)), rule);
  // What is folded is made when it is opened: a tree may be large.
  const unfold = () => fold.append(...it.premises.map((premise) => (typeof premise === "number" ? step(steps, premise, depth + 1, seen) : h("div", { class: "leaf word" }, premise))));
  if (depth < OPEN) unfold();
  else fold.addEventListener("toggle", unfold, { once: true });
  return fold;
}

// One table or view: its rows, live; how it is kept fresh; how it is defined. A click on a row asks why it is there.
import { h, link, pageOf, put } from "./dom.js";
import { bytes, count, percent, rate } from "./format.js";
import { LiveRows } from "./live.js";
import { planned } from "./plan.js";
import { measured, reached, store } from "./store.js";
import { Why } from "./why.js";

const TABS = [["rows", "Rows"], ["plan", "Plan"], ["definition", "Definition"]];

export class ViewPage {
  constructor(name, tab = "rows", row = null) {
    this.name = name;
    this.tab = TABS.some(([key]) => key === tab) ? tab : "rows";
    this.row = row;
    this.element = h("div", { class: "relation-page" },
      h("div", { class: "title" }, h("h1", {}, name, (this.kind = h("small"))), (this.facts = h("dl", { class: "facts" }))),
      h("div", { class: "tabs", role: "tablist" }, TABS.map(([key, title]) =>
        h("a", { role: "tab", href: pageOf(name, key), "aria-selected": key === this.tab }, title))),
      (this.content = h("div", { class: "content" })));
  }

  update() {
    const relation = store.relations.get(this.name);
    if (!store.status || !store.relations.size) return;
    if (!relation) return this.content.replaceChildren(h("p", { class: "none" }, `There is no table or view ${this.name} any more. `, h("a", { href: "#/" }, "Overview")));
    const now = measured().find((each) => each.name === this.name);
    if (now) this.tell(relation, now);
    if (!this.isBegun) this.begin(relation);
    this.live?.update();
  }

  tell(relation, now) {
    const facts = [[count(now.rows), now.rows === 1 ? "row" : "rows"], [`${rate(now.rate.changed)}/s`, "changes"], [percent(now.rate.busy), "of the time"], [bytes(now.bytes), "memory"], [now.disk_bytes === null ? null : bytes(now.disk_bytes), "disk"], [now.last_epoch === null ? null : `epoch ${count(now.last_epoch)}`, "last change"]];
    put(this.kind, ` ${relation.kind}`);
    this.facts.replaceChildren(...facts.filter(([told]) => told !== null && told !== undefined).map(([told, name]) => h("div", {}, h("dt", {}, name), h("dd", {}, told))));
  }

  begin(relation) {
    this.isBegun = true;
    if (this.tab === "rows") {
      this.why = new Why();
      this.live = new LiveRows(relation, (row) => this.why.show(this.name, row));
      this.content.append(h("div", { class: "split" }, this.live.element, this.why.element));
      if (this.row) this.why.show(this.name, this.row);
    } else if (this.tab === "plan") planned(this.name, this.content);
    else this.define(relation);
  }

  define(relation) {
    const names = (set) => [...set].map((name) => h("li", {}, link(name)));
    const list = (title, set) => h("section", {}, h("h3", {}, `${title} (${set.size})`), set.size ? h("ul", { class: "names" }, names(set)) : h("p", { class: "none" }, "nothing"));
    this.content.append(
      h("p", { class: "place" }, [relation.language, relation.place && `at ${relation.place}`].filter(Boolean).join(" ")),
      relation.text ? h("pre", { class: "source" }, relation.text) : null,
      h("table", { class: "columns-of" }, h("thead", {}, h("tr", {}, ["column", "type", "nullable", "key"].map((title) => h("th", {}, title)))),
        h("tbody", {}, relation.columns.map((column) => h("tr", {}, h("td", {}, column.name), h("td", {}, column.type), h("td", {}, column.nullable ? "yes" : ""), h("td", {}, relation.key?.includes(column.name) ? "yes" : ""))))),
      relation.source ? h("p", {}, `Its rows come from ${relation.source}.`) : null,
      relation.published?.length ? h("p", {}, `It is published to ${relation.published.join(", ")}.`) : null,
      h("div", { class: "columns" }, list("Reads", new Set(relation.reads)), list("Rests on", reached(this.name, "reads")), list("Is read by", new Set(store.readers.get(this.name))), list("Leads to", reached(this.name, "readers"))));
  }

  arrow(key) {
    return this.live?.arrow(key) ?? false;
  }

  key(key) {
    const tab = TABS[Number(key) - 1];
    if (tab) location.hash = pageOf(this.name, tab[0]);
    else if (key === " ") this.live?.hold();
    return Boolean(tab) || (key === " " && Boolean(this.live));
  }

  escape() {
    return this.why?.close() ?? false;
  }

  close() {
    this.live?.close();
  }
}

// Errors, sources that cannot be read, rows that were rejected, and subscribers.
import { h, link } from "./dom.js";
import { ago, clock, count } from "./format.js";
import { store } from "./store.js";

export class TroublePage {
  constructor() {
    this.element = h("div", { class: "trouble-page" });
  }

  update() {
    const told = store.status;
    if (!told) return;
    const key = JSON.stringify([told.errors, told.sources, told.rejected, told.subscriptions]);
    if (key === this.told) return;
    this.told = key;
    const now = new Date(told.now).getTime();
    const at = (one) => h("time", { datetime: one, title: `${ago(one, now)} ago` }, clock(one));
    const relation = (name) => (name ? link(name) : "–");
    this.element.replaceChildren(
      list("Errors", "No statement, epoch or subscription has failed since the server began.", told.errors, ["last", "times", "of", "table or view", "message"],
        (e) => [at(e.at), count(e.count), e.kind, relation(e.relation), h("pre", {}, e.message)]),
      list("Sources", "No table has a source.", told.sources, ["table", "state", "since", "tried again", "from", "rows read", "reason"],
        (e) => [link(e.table), h("b", { class: e.state === "running" ? "good" : "bad" }, e.state), e.since ? at(e.since) : "–", e.retry ? at(e.retry) : "–", e.from, count(e.rows_read), h("pre", {}, e.reason ?? "")]),
      list("Rejected rows", "No row of a stream was kept because it does not fit its table.", told.rejected?.filter((r) => r.rows), ["table", "rows", "kept in", "last in epoch"],
        (r) => [link(r.table), h("b", { class: "bad" }, count(r.rows)), link(r.in), r.last_epoch === null ? "before the server began" : count(r.last_epoch)]),
      list("Subscriptions", "Nobody follows a view.", told.subscriptions, ["view", "behind by", "position", "since", "client"],
        (e) => [link(e.view), `${count(told.epoch - e.position)} epochs`, count(e.position), e.since ? at(e.since) : "–", e.client ?? ""]));
  }

  escape() {
    return false;
  }

  close() {}
}

const list = (title, none, entries, heads, cells) => h("section", {}, h("h2", {}, title),
  entries?.length ? h("div", { class: "scroll" }, h("table", {}, h("thead", {}, h("tr", {}, heads.map((head) => h("th", {}, head)))), h("tbody", {}, entries.map((entry) => h("tr", {}, cells(entry).map((cell) => h("td", {}, cell)))))))
    : h("p", { class: "none" }, none));

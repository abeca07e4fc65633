// The first screen: what is wrong, since when and because of what; the epochs; the tables and views; their graph.
import { Chart } from "./chart.js";
import { findings } from "./findings.js";
import { h, link, pageOf, put } from "./dom.js";
import { bytes, clock, count, percent, rate, seconds } from "./format.js";
import { Graph } from "./graph.js";
import { measured, matching, store } from "./store.js";
import { epochDetails } from "./epoch.js";

const COLUMNS = [
  ["name", "table or view", (r) => r.name, null],
  ["busy", "time", (r) => r.rate.busy, (r) => (r.rate.busy ? percent(r.rate.busy) : "")],
  ["visited", "visited/s", (r) => r.rate.visited, (r) => (r.rate.visited ? rate(r.rate.visited) : "")],
  ["changed", "changes/s", (r) => r.rate.changed, (r) => (r.rate.changed ? rate(r.rate.changed) : "")],
  ["rows", "rows", (r) => r.rows, (r) => count(r.rows)],
  ["bytes", "memory", (r) => r.bytes, (r) => bytes(r.bytes)],
  ["disk", "disk", (r) => r.disk_bytes ?? -1, (r) => bytes(r.disk_bytes)],
];
const EXPLAINED = {
  busy: "The part of the last 20 seconds in which the writer was at work on it, its hidden relations included",
  visited: "Rows and index entries that epochs looked at, by the second",
  changed: "Rows that came or went, by the second",
  bytes: "Memory of its rows and orders, its hidden relations included",
  disk: "Bytes in the last checkpoint",
};

export class Overview {
  constructor() {
    this.sort = { key: "busy", down: true };
    this.span = "epochs";
    this.found = null;
    const chart = (title, series, format) =>
      new Chart({ title, series, format, isLog: title === "Duration", sync: "epochs", onpick: (i) => this.pick(i), marks: () => this.marks ?? [] });
    this.charts = [
      chart("Duration", [{ label: "epoch", colour: "--one", bars: true }], seconds),
      chart("Rows changed", [{ label: "in", colour: "--two" }, { label: "out", colour: "--one" }], count),
      chart("Rows visited", [{ label: "visited", colour: "--three" }], count),
    ];
    this.graph = new Graph();
    this.element = h("div", { class: "overview" },
      (this.verdict = h("section", { class: "verdict", "aria-label": "Verdict", "aria-live": "polite" })),
      h("section", { class: "epochs", "aria-label": "Epochs" },
        (this.spans = h("div", { class: "spans" }, h("h2", {}, "Epochs"), this.spanButton("epochs", "the last 600"), this.spanButton("minutes", "a day by minute"))),
        h("div", { class: "charts" }, this.charts.map((one) => one.element)),
        (this.picked = h("div", { class: "picked", hidden: true }))),
      h("section", { class: "relations", "aria-label": "Tables and views" },
        h("div", { class: "scroll" }, h("table", { class: "numbers" }, (this.head = h("thead")), (this.body = h("tbody"))))),
      h("section", { class: "map", "aria-label": "Graph" }, this.graph.element));
    this.rows = new Map();
    this.heads();
  }

  spanButton(span, text) {
    return h("button", { "aria-pressed": span === this.span, dataset: { span }, onclick: () => this.show(span) }, text);
  }

  show(span) {
    this.span = span;
    for (const button of this.spans.querySelectorAll("button")) button.setAttribute("aria-pressed", button.dataset.span === span);
    this.picked.hidden = true;
    this.update();
  }

  // What was typed into the search; "" is no search.
  search(text) {
    this.found = text ? new Set(matching(text)) : null;
    this.graph.search(this.found);
    this.update();
  }

  update() {
    if (!store.status) return;
    const told = findings();
    this.verdict.replaceChildren(...told.map(finding));
    this.marks = told.filter((one) => one.since && one.mark).map((one) => new Date(one.since).getTime() / 1000);
    this.shown = this.span === "epochs" ? store.epochs.slice(-600) : [...store.minutes.values()];
    const is = this.span === "epochs";
    const xs = this.shown.map((entry) => new Date(entry.at).getTime() / 1000);
    const of = (key) => this.shown.map((entry) => entry[key]);
    this.charts[0].set([xs, is ? of("seconds") : of("slowest")]);
    this.charts[1].set([xs, of("rows_in"), of("rows_out")]);
    this.charts[2].set([xs, of("rows_visited")]);
    this.fill();
    this.graph.update();
  }

  pick(index) {
    const entry = this.shown[index];
    this.picked.hidden = false;
    this.picked.replaceChildren(h("button", { class: "close", title: "Close (Esc)", onclick: () => (this.picked.hidden = true) }, "×"), epochDetails(entry));
  }

  escape() {
    if (this.picked.hidden) return false;
    this.picked.hidden = true;
    return true;
  }

  heads() {
    this.head.replaceChildren(h("tr", {}, COLUMNS.map(([key, title]) => {
      const mine = this.sort.key === key;
      const order = () => {
        this.sort = { key, down: mine ? !this.sort.down : key !== "name" };
        this.heads();
        this.fill();
      };
      return h("th", { title: EXPLAINED[key], "aria-sort": mine ? (this.sort.down ? "descending" : "ascending") : "none" }, h("button", { onclick: order }, title));
    })));
  }

  // Rows are kept and moved, so that a click, a selection and the place of the scroll stay.
  fill() {
    const [, , of] = COLUMNS.find(([key]) => key === this.sort.key);
    const sign = this.sort.down ? -1 : 1;
    const wanted = measured().filter((each) => !this.found || this.found.has(each.name));
    wanted.sort((a, b) => (of(a) < of(b) ? -sign : of(a) > of(b) ? sign : 0));
    const most = Math.max(...wanted.map((each) => each.rate.busy), 0.01);
    wanted.forEach((each, place) => {
      const row = this.rows.get(each.name) ?? this.make(each);
      COLUMNS.slice(1).forEach(([, , , show], i) => put(row.cells[i], show(each)));
      row.bar.style.setProperty("width", `${100 * each.rate.busy / most}%`);
      if (this.body.children[place] !== row.element) this.body.insertBefore(row.element, this.body.children[place] ?? null);
    });
    while (this.body.children.length > wanted.length) this.body.lastChild.remove();
  }

  make(each) {
    const bar = h("i", { class: "bar" });
    const cells = COLUMNS.slice(1).map(() => h("span"));
    const element = h("tr", { onmouseenter: () => this.graph.point(each.name), onmouseleave: () => this.graph.point(null) },
      h("td", {}, h("a", { href: pageOf(each.name), class: `name ${each.kind}` }, each.name)),
      cells.map((cell, i) => h("td", { class: COLUMNS[i + 1][0] }, i === 0 ? bar : null, cell)));
    const row = { element, cells, bar };
    this.rows.set(each.name, row);
    return row;
  }

  // Moves the focus among the names of the list.
  arrow(key) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    if (!step || this.graph.element.contains(document.activeElement)) return false;
    const names = [...this.body.querySelectorAll("a.name")];
    const place = names.indexOf(document.activeElement);
    names[place < 0 ? 0 : Math.min(names.length - 1, Math.max(0, place + step))]?.focus();
    return true;
  }

  close() {
    this.charts.forEach((chart) => chart.close());
    this.graph.close();
  }
}

const finding = ({ level, title, since, details }) =>
  h("article", { class: level }, h("h2", {}, title, since ? h("small", {}, ` since ${clock(since)}`) : null), h("ul", {}, details.map((line) => h("li", {}, line))));

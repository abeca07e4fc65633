// The rows of a table or view, as a table and as a chart, as its epochs change them.
import { Chart } from "./chart.js";
import { bars } from "./epoch.js";
import { h, put } from "./dom.js";
import { clock, count, rows, value } from "./format.js";
import * as server from "./server.js";
import { store } from "./store.js";

const LOADED = 1000, SHOWN = 200, FEED = 30, POINTS = 600;
const FLASH = 1500;

export class LiveRows {
  constructor(relation, onpick) {
    Object.assign(this, { relation, onpick, rows: new Map(), feed: [], history: [[], [], []], sort: null, filter: "", isHeld: false });
    this.abort = new AbortController();
    this.chart = new Chart({ title: "Changes by epoch", series: [{ label: "came", colour: "--two", bars: true }, { label: "went", colour: "--bad", bars: true }], format: (n) => count(Math.abs(n)), height: 90 });
    this.chart.element.hidden = true;
    this.element = h("div", { class: "live" },
      h("div", { class: "bar-of-tools" },
        h("input", { type: "search", placeholder: "Filter rows", "aria-label": "Filter rows", oninput: (event) => this.narrow(event.target.value) }),
        (this.holding = h("button", { onclick: () => this.hold(), title: "Hold and resume (Space)" }, "hold")),
        (this.state = h("span", { class: "state" }, "loading"))),
      this.chart.element,
      (this.values = h("div", { class: "values" })),
      h("div", { class: "scroll" }, h("table", { class: "rows" }, (this.head = h("thead")), (this.body = h("tbody")))));
    this.load();
  }

  async load() {
    try {
      const answer = await server.rows(this.relation.name, LOADED);
      this.columns = answer.columns;
      this.epoch = answer.epoch;
      this.isTruncated = answer.truncated;
      this.rows.clear();
      for (const row of answer.rows) this.add(row, 1);
      this.heads();
      this.fill();
      if (this.relation.kind === "table") return this.tell("live");
      await server.follow(this.relation.name, answer.epoch, (change) => this.take(change), (state, error) => this.tell(state, error), this.abort.signal);
    } catch (error) {
      if (!this.abort.signal.aborted) this.tell("lost", error);
    }
  }

  // Changes of tables are not sent: their rows are read again once an epoch has changed them.
  async readAgain() {
    const answer = await server.rows(this.relation.name, LOADED).catch((error) => this.tell("lost", error));
    if (!answer || this.abort.signal.aborted) return;
    const now = Date.now(), before = this.rows;
    this.rows = new Map();
    for (const row of answer.rows) this.add(row, 1, before.get(JSON.stringify(row))?.at ?? now);
    this.epoch = answer.epoch;
    this.fill();
  }

  tell(state, error) {
    this.connection = state;
    this.error = error;
    if (error instanceof server.ServerError) this.state.replaceChildren(h("span", { class: "bad" }, error.message), h("button", { onclick: () => this.load() }, "load again"));
    else this.update();
  }

  // Equal rows are one entry with their number.
  add(row, weight, now = 0) {
    const key = JSON.stringify(row);
    const entry = this.rows.get(key) ?? { row, weight: 0, key };
    entry.weight += weight;
    entry.at = now;
    if (entry.weight === 0 && !now) this.rows.delete(key);
    else this.rows.set(key, entry);
  }

  take(change) {
    const now = Date.now();
    change.rows.forEach((row, i) => this.add(row, change.weights[i], now));
    this.dropReplaced(change);
    this.epoch = change.epoch;
    const came = change.weights.reduce((sum, weight) => sum + Math.max(0, weight), 0);
    const went = change.weights.reduce((sum, weight) => sum - Math.min(0, weight), 0);
    [new Date(change.at ?? now).getTime() / 1000, came, -went].forEach((n, i) => this.history[i].push(n));
    if (this.history[0].length > POINTS) this.history.forEach((list) => list.shift());
    if (!this.isHeld) this.soon();
  }

  // A row that went is not shown where another of the same first value came in its place: that one is a change of it.
  dropReplaced(change) {
    const came = new Set(change.rows.filter((_, i) => change.weights[i] > 0).map((row) => JSON.stringify(row[0])));
    for (const row of change.rows.filter(([first], i) => change.weights[i] < 0 && came.has(JSON.stringify(first)))) {
      const key = JSON.stringify(row);
      if (this.rows.get(key)?.weight === 0) this.rows.delete(key);
    }
  }

  // Draws once for all that comes within a moment.
  soon() {
    this.waiting ??= setTimeout(() => {
      this.waiting = null;
      this.fill();
      this.chart.element.hidden = !this.history[0].length;
      this.chart.set(this.history);
    }, 100);
  }

  hold() {
    this.isHeld = !this.isHeld;
    put(this.holding, this.isHeld ? "resume" : "hold");
    if (!this.isHeld) this.soon();
    this.update();
  }

  narrow(text) {
    this.filter = text.toLowerCase();
    this.fill();
  }

  heads() {
    this.head.replaceChildren(h("tr", {}, this.columns.map((column, i) => {
      const mine = this.sort?.column === i;
      const order = () => {
        this.sort = { column: i, down: mine ? !this.sort.down : isNumeric(column) };
        this.heads();
        this.fill();
      };
      return h("th", { title: column.type, class: isNumeric(column) ? "number" : "", "aria-sort": mine ? (this.sort.down ? "descending" : "ascending") : "none" }, h("button", { onclick: order }, column.name));
    })));
  }

  // The rows to be shown: by the order that was chosen, else of few rows by the first column, of many the last that changed.
  ordered() {
    const now = Date.now();
    for (const [key, entry] of this.rows) if (entry.weight === 0 && now - entry.at > FLASH) this.rows.delete(key);
    const all = [...this.rows.values()].filter((entry) => !this.filter || entry.row.some((v) => value(v).toLowerCase().includes(this.filter)));
    if (!this.sort && all.length > SHOWN) return all.sort((a, b) => b.at - a.at);
    const { column, down } = this.sort ?? { column: 0, down: false }, numeric = isNumeric(this.columns[column]);
    const of = (entry) => (numeric ? Number(entry.row[column]) : value(entry.row[column]));
    return all.sort((a, b) => (of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0) * (down ? -1 : 1));
  }

  fill() {
    const all = this.ordered(), now = Date.now();
    const focused = document.activeElement?.closest?.("tr")?.dataset.key;
    this.body.replaceChildren(...all.slice(0, SHOWN).map((entry) => this.line(entry, now)));
    if (focused) [...this.body.children].find((line) => line.dataset.key === focused)?.focus();
    this.matching = all.filter((entry) => entry.weight > 0).length;
    this.chartValues();
    this.update();
    if (all.some((entry) => entry.weight === 0)) setTimeout(() => !this.isHeld && !this.abort.signal.aborted && this.soon(), FLASH + 50);
  }

  line(entry, now) {
    const fresh = now - entry.at < FLASH ? (entry.weight > 0 ? "came" : "went") : "";
    const pick = () => this.onpick(Object.fromEntries(this.columns.map((column, i) => [column.name, entry.row[i]])));
    return h("tr", { class: fresh, tabindex: 0, dataset: { key: entry.key }, title: "Why is it there?", onclick: pick, onkeydown: (event) => event.key === "Enter" && pick() },
      entry.row.map((v, i) => h("td", { class: v === null ? "null" : isNumeric(this.columns[i]) ? "number" : "" }, value(v))),
      entry.weight > 1 ? h("td", { class: "copies" }, `× ${count(entry.weight)}`) : null);
  }

  // Bars of a numeric column, that of the order or the last one, by the first that is none, where rows are few enough.
  chartValues() {
    const chosen = this.sort && isNumeric(this.columns[this.sort.column]) ? this.sort.column : null;
    const number = chosen ?? this.columns.findLastIndex((column) => isNumeric(column)), label = this.columns.findIndex((column) => !isNumeric(column));
    const present = [...this.rows.values()].filter((entry) => entry.weight > 0);
    const fits = number >= 0 && label >= 0 && present.length > 1 && present.length <= 60;
    this.values.replaceChildren(...(fits ? [bars(`${this.columns[number].name} by ${this.columns[label].name}`, present.map(({ row }) => [value(row[label]), Number(row[number])]), null, count)] : []));
  }

  update() {
    if (this.error instanceof server.ServerError || !this.columns) return;
    const { rows: total, last_epoch: last } = store.status?.relations.find((each) => each.name === this.relation.name) ?? {};
    if (this.relation.kind === "table" && last > this.epoch && !this.isHeld) {
      this.epoch = last;
      this.readAgain();
    }
    // What is followed and was not changed is as of the last epoch.
    const epoch = this.connection === "live" && !this.isHeld ? Math.max(this.epoch, store.status?.epoch ?? 0) : this.epoch;
    const shown = Math.min(SHOWN, this.matching ?? 0);
    const partly = this.isTruncated ? `; the first ${count(LOADED)} and what came since` : "";
    put(this.state, `${this.isHeld ? "held" : (this.connection ?? "loading")} · epoch ${count(epoch)} · ${count(shown)} of ${rows(total)}${partly}`);
    this.state.dataset.state = this.isHeld ? "held" : this.connection;
  }

  arrow(key) {
    const step = { ArrowDown: "nextElementSibling", ArrowUp: "previousElementSibling" }[key];
    if (!step) return false;
    const line = document.activeElement?.closest?.("tbody tr");
    (line ? line[step] : this.body.firstElementChild)?.focus();
    return true;
  }

  close() {
    this.abort.abort();
    clearTimeout(this.waiting);
    this.chart.close();
  }
}

export const isNumeric = (column) => /^(u?int\d*|integer|tinyint|smallint|bigint|float\d*|double|real|halffloat|decimal)/i.test(column.type);

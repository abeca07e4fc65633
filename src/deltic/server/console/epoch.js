// What one epoch, or minute, did: where its time went, and what changed.
import { h, link } from "./dom.js";
import { clock, count, percent, seconds } from "./format.js";
import { store } from "./store.js";

export function epochDetails(entry) {
  const title = entry.epochs === undefined ? `Epoch ${count(entry.epoch)}` : `${count(entry.epochs)} epochs in a minute`;
  const facts = [
    [clock(entry.at), "at"],
    [seconds(entry.seconds), "took"],
    [count(entry.rows_in), "rows in"],
    [count(entry.rows_out), "rows out"],
    [count(entry.rows_visited), "visited"],
    entry.writers ? [count(entry.writers), "transactions"] : null,
  ];
  return h("div", { class: "details" },
    h("h3", {}, title),
    h("dl", { class: "facts" }, facts.filter(Boolean).map(([value, name]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)))),
    h("div", { class: "columns" },
      bars("Time by view", Object.entries(entry.work ?? {}), entry.seconds, seconds),
      bars("Time by phase", Object.entries(entry.phases ?? {}), entry.seconds, seconds),
      bars("Rows changed", changed(entry), null, count)),
    (entry.components ?? []).filter((component) => component.action !== "update").map((component) =>
      h("p", { class: "note" }, link(component.relations[0]), `: ${component.action}, ${seconds(component.seconds)}; ${component.reason}`)),
    Object.entries(entry.late ?? {}).map(([table, rows]) => h("p", { class: "note" }, link(table), `: ${count(rows)} rows came too late, and were left out`)));
}

function changed(entry) {
  const views = Object.entries(entry.changed ?? {}).map(([name, [came, went]]) => [name, came + went]);
  return [...Object.entries(entry.tables ?? {}), ...views];
}

// A list of the largest parts, each with a bar against the whole or the largest.
export function bars(title, parts, whole, format) {
  const sorted = parts.filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]).slice(0, 8);
  const most = whole || sorted[0]?.[1] || 1;
  return h("div", { class: "bars" }, h("h4", {}, title), sorted.length ? null : h("p", { class: "none" }, "nothing"),
    h("ul", {}, sorted.map(([name, n]) => h("li", {},
      h("i", { class: "bar", style: { width: `${100 * Math.min(1, n / most)}%` } }),
      h("span", { class: "label" }, store.relations.has(name) ? link(name) : name),
      h("span", { class: "amount" }, format(n), whole ? h("small", {}, ` ${percent(n / whole)}`) : null)))));
}

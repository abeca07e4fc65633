// How a view is kept fresh: its relations and delta queries, with the rows that these were expected to visit, and did.
import { h, link } from "./dom.js";
import { bytes, count, times } from "./format.js";
import * as server from "./server.js";
import { store } from "./store.js";

const SURPRISING = 4, LITTLE = 1000;

export async function planned(name, into) {
  into.replaceChildren(h("p", { class: "none" }, "asking"));
  try {
    const plan = await server.plan(name);
    const again = h("button", { onclick: () => planned(name, into) }, "ask again");
    into.replaceChildren(...relations(plan.relations, again), text("explain", plan.text, !plan.relations.length), text("with circuits and derivatives", plan.full));
  } catch (error) {
    into.replaceChildren(h("pre", { class: "error" }, error.message));
  }
}

const text = (title, told, open) => (told ? h("details", { class: "text", open }, h("summary", {}, title), h("pre", {}, told)) : null);

function relations(all, again) {
  if (!all.length) return [h("p", { class: "none" }, "Its rows are on shards, where delta queries are not counted.")];
  const queries = all.flatMap((relation) => relation.queries.map((query) => ({ ...query, relation })));
  const most = Math.max(1, ...queries.map((query) => Math.max(query.visited, predicted(query) ?? 0)));
  const total = queries.reduce((sum, query) => sum + query.visited, 0);
  return [
    h("p", { class: "legend" }, `${count(total)} rows visited since the server began, `, h("i", { class: "actual" }), " visited, ", h("i", { class: "expected" }), " predicted for as many changed rows. ", again),
    h("div", { class: "plan" }, all.map((relation) => card(relation, most))),
  ];
}

const predicted = (query) => (query.expected_visited === null ? null : query.expected_visited * query.changed);

function card(relation, most) {
  const name = store.relations.has(relation.relation) ? link(relation.relation) : h("span", { class: "name hidden" }, relation.relation);
  const visited = relation.queries.reduce((sum, query) => sum + query.visited, 0);
  return h("section", {},
    h("h3", {}, name, h("small", {}, [` ${relation.keeps}`, relation.bytes ? bytes(relation.bytes) : null, visited ? `${count(visited)} visited` : null].filter(Boolean).join(" · "))),
    relation.orders.length ? h("p", { class: "orders" }, "sorted by ", relation.orders.map((order) => h("code", {}, order.join(", ")))) : null,
    relation.notes.map((note) => h("p", { class: "note" }, note)),
    relation.queries.map((query) => row(query, most)));
}

function row(query, most) {
  const wanted = predicted(query), ratio = wanted ? query.visited / wanted : null;
  const isOff = ratio > SURPRISING && query.visited > LITTLE;
  const bar = (cls, n) => h("i", { class: cls, style: { width: `${(100 * n) / most}%` } });
  const figures = query.changed
    ? `${count(query.changed)} changed rows → ${count(query.visited)} visited${wanted === null ? "" : `, ${count(wanted)} predicted`}; ${count(query.derived)} derived`
    : "nothing has followed it yet";
  return h("details", { class: "query" },
    h("summary", {}, h("code", {}, query.text), h("div", { class: "measure" }, bar("actual", query.visited), bar("expected", wanted ?? 0)),
      h("span", { class: "figures" }, figures, isOff ? h("b", { class: "bad" }, ` ${times(ratio)} the prediction`) : null)),
    h("pre", {}, query.steps.join("\n")),
    query.steps_by_groups.length ? [h("h4", {}, "for a large change, by groups of its rows"), h("pre", {}, query.steps_by_groups.join("\n"))] : null);
}

// The page: which part of it is shown, the search, the keys, and whether the server answers.
import { by, h, isTyping, pageOf, put } from "./dom.js";
import { ago, bytes, clock, count } from "./format.js";
import { Overview } from "./overview.js";
import { QueryPage } from "./query.js";
import { matching, poll, store, watch } from "./store.js";
import { TroublePage } from "./trouble.js";
import { ViewPage } from "./view.js";

const main = by("main"), search = by("search"), matches = by("matches");
let page = null, isGoing = false;

function made() {
  const [, kind, name, tab, row] = location.hash.split("/").map(decodeURIComponent);
  if (kind === "view" && name) return ["view", new ViewPage(name, tab, row && JSON.parse(row))];
  if (kind === "sql") return ["sql", new QueryPage()];
  if (kind === "trouble") return ["trouble", new TroublePage()];
  return ["overview", new Overview()];
}

function show() {
  page?.close();
  const [name, next] = made();
  page = next;
  for (const anchor of document.querySelectorAll("nav a")) anchor.toggleAttribute("aria-current", anchor.dataset.page === name);
  main.replaceChildren(page.element);
  main.dataset.page = name;
  page.update();
  page.focus?.();
}

// What the server said, on all pages

function tell() {
  const { status, failure } = store;
  by("lost").hidden = !failure;
  if (failure) put(by("lost"), `No answer since ${clock(store.answered ?? failure.at)} (${failure.error.message}); what you see is of then. Trying again each second.`);
  document.body.classList.toggle("stale", Boolean(failure));
  if (!status) return;
  const name = status.program ?? "Deltic";
  put(by("program"), name);
  const troubles = (status.sources ?? []).filter((source) => source.state !== "running").length + (status.rejected ?? []).filter((each) => each.rows).length + (status.errors ?? []).length;
  by("troubles").hidden = !troubles;
  put(by("troubles"), String(troubles));
  document.title = `${failure ? "⚠ no answer" : troubles ? `(${troubles})` : ""} ${name} · Deltic`.trim();
  vitals(status);
  page.update();
}

function vitals({ epoch, memory, disk, started, now }) {
  const facts = [["epoch", count(epoch)], ["state", bytes(memory?.state)], ["memory", bytes(memory?.resident)], disk ? ["disk", bytes(disk.used)] : null, ["up", ago(started, new Date(now))]].filter(Boolean);
  by("vitals").replaceChildren(...facts.map(([title, told]) => h("span", {}, `${title} `, h("b", {}, told))));
}

// The search: a list of names below it, and the overview narrowed to them

let chosen = 0;

function searched() {
  const text = search.value;
  const names = text ? matching(text).slice(0, 12) : [];
  chosen = 0;
  matches.hidden = !text;
  search.setAttribute("aria-expanded", String(Boolean(text)));
  matches.replaceChildren(...(names.length ? names.map((name) => h("li", { role: "option", onmousedown: (event) => (event.preventDefault(), open(name)) }, name, h("small", {}, store.relations.get(name).kind))) : [h("li", { class: "none" }, "none has such a name")]));
  choose(0);
  page.search?.(text);
}

function choose(step) {
  const items = [...matches.querySelectorAll("[role=option]")];
  if (!items.length) return;
  chosen = (chosen + step + items.length) % items.length;
  items.forEach((item, i) => item.setAttribute("aria-selected", i === chosen));
}

function open(name) {
  clear();
  location.hash = pageOf(name);
}

function clear() {
  search.value = "";
  searched();
  search.blur();
}

search.addEventListener("input", searched);
search.addEventListener("blur", () => (matches.hidden = true));
search.addEventListener("focus", () => (matches.hidden = !search.value));
search.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" || event.key === "ArrowUp") choose(event.key === "ArrowDown" ? 1 : -1);
  else if (event.key === "Enter" && matches.querySelector("[aria-selected=true]")) open(matching(search.value)[chosen]);
  else if (event.key === "Escape") clear();
  else return;
  event.preventDefault();
  event.stopPropagation();
});

// Keys

const PAGES = { o: "#/", s: "#/sql", t: "#/trouble" };

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const { key } = event;
  if (key === "Escape") escaped(event);
  else if (isTyping(event)) return;
  else if (key === "/") search.focus();
  else if (key === "?") by("keys").showModal();
  else if (isGoing && PAGES[key]) location.hash = PAGES[key];
  else if (!(key.startsWith("Arrow") ? page.arrow?.(key) : isOwn(event) || page.key?.(key))) {
    isGoing = key === "g";
    return;
  }
  isGoing = false;
  if (key !== "Escape") event.preventDefault();
}

// Space and Enter belong to a button or link that has the focus.
const isOwn = (event) => event.key === " " && event.target.closest?.("button, a, summary");

function escaped(event) {
  if (page.escape()) return;
  if (isTyping(event)) return event.target.blur();
  if (!(page instanceof Overview)) location.hash = "#/";
}

document.addEventListener("keydown", pressed);
addEventListener("hashchange", show);
watch(tell);
show();
poll();

// What is known of the server: its catalog, and what /status said, kept for as long as the page shows it.
import * as server from "./server.js";

const EPOCHS = 3000;
const WINDOW = 20e3;
const EVERY = 1000, HIDDEN = 10e3;

export const store = {
  relations: new Map(),
  readers: new Map(),
  functions: [],
  status: null,
  epochs: [],
  minutes: new Map(),
  rates: new Map(),
  answered: null,
  failure: null,
};

const samples = [];
const listeners = new Set();

// Calls `listener` after each answer, or failure, of the server; what is returned ends that.
export function watch(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const tell = () => listeners.forEach((listener) => listener());

export async function loadCatalog() {
  const catalog = await server.catalog();
  store.relations = new Map(catalog.relations.map((relation) => [relation.name, relation]));
  store.readers = new Map(catalog.relations.map((relation) => [relation.name, []]));
  for (const relation of catalog.relations) for (const name of relation.reads) store.readers.get(name)?.push(relation.name);
  store.functions = catalog.functions ?? [];
}

export async function poll() {
  for (;;) {
    try {
      take(await server.status(store.epochs.at(-1)?.epoch ?? null));
      if (store.epochs.at(-1)?.definitions || !store.relations.size || hasOthers()) await loadCatalog();
    } catch (error) {
      store.failure = { error, at: store.failure?.at ?? Date.now() };
    }
    tell();
    await new Promise((resolve) => setTimeout(resolve, document.hidden ? HIDDEN : EVERY));
  }
}

const hasOthers = () => store.status.relations.some((each) => !store.relations.has(each.name)) || store.status.relations.length !== store.relations.size;

function take(status) {
  if (store.status && status.started !== store.status.started) forget();
  store.status = status;
  store.failure = null;
  store.answered = Date.now();
  store.epochs = [...store.epochs, ...status.epochs].slice(-EPOCHS);
  for (const minute of status.minutes) store.minutes.set(minute.at, minute);
  samples.push({ at: new Date(status.now).getTime(), by: new Map(status.relations.map((each) => [each.name, each])) });
  while (samples.length > 2 && samples[1].at < samples.at(-1).at - WINDOW) samples.shift();
  store.rates = rates();
}

// Another process of the server: what was known of the former one does not go on.
function forget() {
  store.epochs = [];
  store.minutes.clear();
  samples.length = 0;
}

// For each table and view, by the second: changed rows, rows visited, and the part of the time that it is at work.
function rates() {
  const [first, last] = [samples[0], samples.at(-1)];
  const passed = (last.at - first.at) / 1000;
  const none = { changed: 0, visited: 0, busy: 0 };
  return new Map([...last.by].map(([name, now]) => {
    const then = first.by.get(name);
    const over = (key) => (now[key] - then[key]) / passed;
    return [name, passed > 0 && then ? { changed: over("changed"), visited: over("visited"), busy: over("seconds") } : none];
  }));
}

// The tables and views with all that is known of them, the hottest first.
export function measured() {
  const rows = (store.status?.relations ?? []).map((each) => ({ ...each, ...store.relations.get(each.name), ...each, rate: store.rates.get(each.name) }));
  return rows.sort((a, b) => b.rate.busy - a.rate.busy || b.seconds - a.seconds || b.rows - a.rows || (a.name < b.name ? -1 : 1));
}

// All that a relation is computed from (by "reads"), or that is computed from it (by "readers").
export function reached(name, way) {
  const next = (one) => (way === "reads" ? store.relations.get(one)?.reads : store.readers.get(one)) ?? [];
  const result = new Set();
  for (const pending = [...next(name)]; pending.length; ) {
    const one = pending.pop();
    if (!result.has(one)) {
      result.add(one);
      pending.push(...next(one));
    }
  }
  return result;
}

// Names that fit what was typed: those that begin so, then those that contain it.
export function matching(text, names = [...store.relations.keys()]) {
  const wanted = text.trim().toLowerCase();
  const begins = names.filter((name) => name.toLowerCase().startsWith(wanted));
  return [...begins, ...names.filter((name) => !begins.includes(name) && name.toLowerCase().includes(wanted))];
}

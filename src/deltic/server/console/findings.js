// The diagnosis in words, the worst first: {level, title, since, details, mark} of lines with links.
import { grown, quantile, recomputed, shares, silence, slowness } from "./diagnosis.js";
import { h, link } from "./dom.js";
import { ago, bytes, clock, count, percent, seconds, times } from "./format.js";
import { store } from "./store.js";

const RECENT = 15 * 60e3;
const MANY = 100, NOTABLE = 0.1;
const LEVELS = ["bad", "warn", "good"];

export function findings() {
  const now = new Date(store.status.now).getTime();
  const minutes = [...store.minutes.values()];
  const all = [slow(now, minutes), ...sources(), ...rejected(), memory(), silent(now), ...errors(now)].filter(Boolean);
  return all.length ? all.sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level)) : [calm(now)];
}

function slow(now, minutes) {
  const result = slowness(store.epochs, minutes, now);
  if (!result) return null;
  const { usual, since } = result;
  const worst = quantile(result.slow.map((epoch) => epoch.seconds), 0.5);
  const title = usual && worst > 2 * usual ? `Epochs take ${seconds(worst)}, ${times(worst / usual)} the usual ${seconds(usual)}` : `Epochs take ${seconds(worst)}`;
  return { level: "bad", title, since, mark: true, details: [...causes(result)] };
}

function* causes({ slow, before }) {
  const { views, phases } = shares(slow);
  const hottest = views.filter(([, share]) => share > NOTABLE).slice(0, 3);
  if (hottest.length) yield [...listed(hottest.map(([view, share]) => [link(view), ` (${percent(share)})`])), hottest.length === 1 ? " takes most of the time" : " take most of the time", ...visits(hottest[0][0], slow, before, hottest.length === 1 ? hottest[0][0] : null)];
  const [phase, share] = phases.find(([name]) => name !== "evaluation") ?? [null, 0];
  if (share > 0.3) yield PHASES[phase]?.(percent(share)) ?? `The phase “${phase}” takes ${percent(share)} of the time`;
  const change = grown(slow, before);
  if (change) yield ["The changes of ", link(change.table), ` are large: ${count(change.rows)} rows an epoch, ${count(change.usual)} before`];
  const anew = recomputed(slow, NOTABLE);
  if (anew) yield [link(named(anew.relations)), ` was computed from nothing ${anew.times === 1 ? "once" : `${count(anew.times)} times`}: ${anew.reason}`];
  if (!hottest.length && !change && !anew && share <= 0.3) yield "No view stands out: the machine may be busy with other work";
}

// What a view visits for each changed row, where that is much, or more than before.
function visits(view, slow, before, only) {
  const each = (epochs) => (shares(epochs).visited.get(view) ?? 0) / (epochs.reduce((sum, epoch) => sum + epoch.rows_in, 0) || 1);
  const now = each(slow), then = each(before);
  const more = before.length && now > 2 * then ? `, ${count(then)} before` : "";
  return more || now > MANY ? [`; ${view === only ? "it" : view} visits ${count(now)} rows for each changed row${more}`] : [];
}

const PHASES = {
  log: (part) => `Writing the log takes ${part} of the time: the disk is slow, or full`,
  encoding: (part) => `Reading the changes takes ${part} of the time: they are large, or have many new texts`,
  keys: (part) => `Checking keys takes ${part} of the time`,
  moving: (part) => `Moving state between places takes ${part} of the time`,
  application: (part) => `What programs do before they commit takes ${part} of the time`,
};

const named = (relations) => relations.find((name) => store.relations.has(name)) ?? relations[0];

const listed = (parts) => parts.flatMap((part, i) => (i ? [i === parts.length - 1 ? " and " : ", ", ...part] : part));

function* sources() {
  for (const source of store.status.sources ?? []) {
    if (source.state === "running") continue;
    const level = source.state === "paused" ? "warn" : "bad";
    yield { level, title: `The source of ${source.table} is ${source.state}`, since: source.since, details: [[link(source.table), ` no longer follows ${source.from}: ${(source.reason ?? "no reason was told").split("\n")[0]}`]] };
  }
}

function* rejected() {
  for (const { table, in: kept, rows } of store.status.rejected ?? []) {
    if (rows) yield { level: "warn", title: `${count(rows)} row${rows === 1 ? "" : "s"} of ${table} did not fit`, since: null, details: [["They are in ", link(kept), ", each with the reason: mend them at their source, and delete them there"]] };
  }
}

function memory() {
  const { resident, limit, state } = store.status.memory ?? {};
  if (!resident || !limit || resident < 0.85 * limit) return null;
  const [largest] = [...store.status.relations].sort((a, b) => b.bytes - a.bytes);
  const most = largest ? [link(largest.name), ` has the most, ${bytes(largest.bytes)} of the ${bytes(state)} of the state`] : [];
  return { level: "bad", title: `Memory is at ${percent(resident / limit)} of ${bytes(limit)}`, since: null, details: [most] };
}

function silent(now) {
  const result = silence(store.epochs, now);
  if (!result) return null;
  const title = `No epoch for ${ago(result.since, now)}`;
  return { level: "warn", title, since: result.since, details: [`Before, there was one each ${seconds(result.usual / 1000)}: see whether writers and sources are at work`] };
}

function* errors(now) {
  const recent = (store.status.errors ?? []).filter((error) => now - new Date(error.at) < RECENT);
  if (!recent.length) return;
  const total = recent.reduce((sum, error) => sum + error.count, 0);
  const first = recent.map((error) => error.first ?? error.at).sort()[0];
  yield { level: "warn", title: `${count(total)} error${total === 1 ? "" : "s"}`, since: first, details: [[h("a", { href: "#/trouble" }, "the last one"), ` at ${clock(recent[0].at)}: ${recent[0].message.split("\n")[0]}`]] };
}

function calm(now) {
  const recent = store.epochs.slice(-200).map((epoch) => epoch.seconds);
  const fresh = store.epochs.at(-1);
  const took = recent.length ? `Epochs take ${seconds(quantile(recent, 0.5))} in the median, ${seconds(Math.max(...recent))} at most` : "There was no epoch since the server began";
  return { level: "good", title: "Nothing unusual", since: null, details: [`${took}${fresh ? `; the last one was ${ago(fresh.at, now)} ago` : ""}`] };
}

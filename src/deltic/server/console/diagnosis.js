// What is wrong, since when, and because of what: from the epochs and minutes that the server told. It asks nothing.
// Seconds that nobody notices, and those that are long where it is not known what is usual.
const NOTICED = 0.05, LONG = 1;
const FACTOR = 3;
const FEW = 5;
const RECENT = 120e3;
const LATELY = 20;
// The part of epochs that may be slow at any time.
const SELDOM = 0.05;

const at = (entry) => new Date(entry.at).getTime();
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

export function quantile(numbers, part) {
  if (!numbers.length) return null;
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
}

// {usual, limit, slow: the slow epochs of the trailing stretch, since} where epochs are slow by now, else null.
export function slowness(epochs, minutes, now) {
  const own = epochs.filter((epoch) => !epoch.definitions);
  const recent = own.filter((epoch) => now - at(epoch) < RECENT).slice(-200);
  if (!recent.length) return null;
  const usual = usualSeconds(own, minutes);
  const limit = usual === null ? LONG : Math.max(NOTICED, FACTOR * usual);
  const lately = recent.slice(-LATELY);
  const part = lately.filter((epoch) => epoch.seconds > limit).length / lately.length;
  if (part < 2 * SELDOM) return null;
  const begin = beginning(own, limit, Math.min(part, 1 - SELDOM));
  const slow = own.slice(begin).filter((epoch) => epoch.seconds > limit);
  const earlier = begin === 0 ? minutes.filter((minute) => minute.slowest > limit) : [];
  return { usual, limit, slow, since: contiguous(earlier) ?? (slow[0] ?? own[begin]).at, before: own.slice(0, begin).filter((epoch) => epoch.seconds <= limit) };
}

// What epochs took before the last ones: of minutes that are over, else of earlier epochs; null where these are few.
function usualSeconds(epochs, minutes) {
  const means = minutes.slice(0, -2).filter((minute) => minute.epochs).map((minute) => minute.seconds / minute.epochs);
  if (means.length >= 3) return quantile(means, 0.25);
  const others = epochs.slice(0, -LATELY).map((epoch) => epoch.seconds);
  return others.length >= 10 ? quantile(others, 0.25) : null;
}

// Where the trailing stretch of slow epochs begins: the most likely change from few slow ones to as many as lately (CUSUM).
function beginning(epochs, limit, part) {
  const slow = Math.log(part / SELDOM), other = Math.log((1 - part) / (1 - SELDOM));
  let begin = epochs.length - 1, best = 0, evidence = 0;
  for (let i = epochs.length - 1; i >= 0; i--) {
    evidence += epochs[i].seconds > limit ? slow : other;
    if (evidence > best) [begin, best] = [i, evidence];
  }
  return begin;
}

// The first of the slow minutes that follow each other up to the last one.
function contiguous(minutes) {
  let first = minutes.at(-1);
  for (const minute of minutes.toReversed()) {
    if (at(first) - at(minute) > 120e3) break;
    first = minute;
  }
  return first?.at ?? null;
}

// Where the time of slow epochs goes: shares by view, and by phase where that is not the evaluation.
export function shares(epochs) {
  const total = sum(epochs.map((epoch) => epoch.seconds)) || 1;
  const views = new Map(), phases = new Map(), visited = new Map();
  for (const epoch of epochs) {
    add(views, epoch.work, total);
    add(phases, epoch.phases, total);
    add(visited, epoch.visited, 1);
  }
  const sorted = (map) => [...map].sort((a, b) => b[1] - a[1]);
  return { views: sorted(views), phases: sorted(phases), visited };
}

function add(sums, parts, unit) {
  for (const [name, amount] of Object.entries(parts ?? {})) sums.set(name, (sums.get(name) ?? 0) + amount / unit);
}

// The table whose changes have grown most: {table, rows, usual} by epoch, where that is a multiple of the usual.
export function grown(slow, before) {
  if (before.length < FEW) return null;
  const mean = (epochs, table) => sum(epochs.map((epoch) => epoch.tables?.[table] ?? 0)) / (epochs.length || 1);
  const tables = [...new Set(slow.flatMap((epoch) => Object.keys(epoch.tables ?? {})))];
  const all = tables.map((table) => ({ table, rows: mean(slow, table), usual: mean(before, table) }));
  const [most] = all.sort((a, b) => b.rows / (b.usual + 1) - a.rows / (a.usual + 1));
  return most && most.rows > 2 * FACTOR * (most.usual + 1) ? most : null;
}

// What was computed from nothing in slow epochs, and why, where that is a part of their time.
export function recomputed(slow, part) {
  const all = slow.flatMap((epoch) => epoch.components ?? []).filter((component) => component.action !== "update");
  const [worst] = all.sort((a, b) => b.seconds - a.seconds);
  if (!worst) return null;
  const same = all.filter((each) => each.relations[0] === worst.relations[0]);
  const spent = sum(same.map((each) => each.seconds)), total = sum(slow.map((epoch) => epoch.seconds));
  return spent > part * total ? { ...worst, times: same.length } : null;
}

// How long there has been no epoch, where that is unusual: {gap, usual, since}.
export function silence(epochs, now) {
  if (epochs.length < 10) return null;
  const last = at(epochs.at(-1)), gap = now - last;
  const gaps = epochs.slice(1).map((epoch, i) => at(epoch) - at(epochs[i]));
  const usual = quantile(gaps, 0.9);
  return gap > 30e3 && gap > 20 * usual ? { gap, usual, since: epochs.at(-1).at } : null;
}

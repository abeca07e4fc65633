// Numbers, sizes, times and values as people read them.
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const FEW = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

export const count = (n) => (n === null || n === undefined ? "–" : Math.abs(n) < 1e5 ? WHOLE.format(n) : SHORT.format(n));

export const rows = (n) => `${count(n)} ${n === 1 ? "row" : "rows"}`;

export const rate = (n) => (!n ? "0" : n < 10 ? FEW.format(n) : count(n));

export function seconds(n) {
  if (n === null || n === undefined) return "–";
  if (n < 0.001) return `${FEW.format(n * 1e6)} µs`;
  if (n < 1) return `${n < 0.01 ? FEW.format(n * 1e3) : WHOLE.format(n * 1e3)} ms`;
  return n < 100 ? `${n.toPrecision(2)} s` : `${WHOLE.format(n)} s`;
}

export function bytes(n) {
  if (n === null || n === undefined) return "–";
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (n < 1024) return `${n < 10 && unit !== "B" ? n.toFixed(1) : WHOLE.format(n)} ${unit}`;
    n /= 1024;
  }
  return `${n.toFixed(1)} TiB`;
}

export const percent = (part) => (part > 0 && part < 0.01 ? "<1 %" : `${WHOLE.format(100 * part)} %`);

export const times = (ratio) => `${ratio < 10 ? ratio.toFixed(1) : WHOLE.format(ratio)} ×`;

export function clock(at) {
  const time = new Date(at);
  const day = time.toDateString() === new Date().toDateString() ? "" : `${time.toLocaleDateString("en-CA")} `;
  return day + time.toLocaleTimeString("en-GB");
}

export function ago(at, now = Date.now()) {
  const passed = Math.max(0, (now - new Date(at)) / 1000);
  if (passed < 60) return `${Math.floor(passed)} s`;
  if (passed < 3600) return `${Math.floor(passed / 60)} min`;
  return passed < 172800 ? `${Math.floor(passed / 3600)} h ${Math.floor((passed % 3600) / 60)} min` : `${Math.floor(passed / 86400)} days`;
}

export function value(v) {
  if (v === null) return "NULL";
  return typeof v === "object" ? JSON.stringify(v) : String(v);
}

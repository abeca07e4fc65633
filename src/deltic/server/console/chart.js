// Charts over time, by uPlot, in the colours of the page.
import { h } from "./dom.js";

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const LEAST = 60;  // seconds that a chart shows at least
const dark = matchMedia("(prefers-color-scheme: dark)");

// A chart with a `title`, whose `series` are {label, colour, format, bars?}. `set(xs, ys…)` shows data, `since` is marked.
export class Chart {
  constructor({ title, series, height = 110, format, isLog = false, sync, onpick, marks = () => [] }) {
    this.options = { title, series, height, format, isLog, sync, onpick, marks };
    this.element = h("figure", { class: "chart" }, h("figcaption", {}, title, (this.told = h("span", { class: "told" }))));
    this.data = [[], ...series.map(() => [])];
    this.resized = new ResizeObserver(() => this.fit());
    this.resized.observe(this.element);
    this.redrawn = () => this.draw();
    dark.addEventListener("change", this.redrawn);
  }

  set(data) {
    this.data = data;
    if (this.plot) this.plot.setData(data);
    else this.draw();
  }

  fit() {
    if (!this.plot) return this.draw();
    const width = this.element.clientWidth;
    if (width && width !== this.plot.width) this.plot.setSize({ width, height: this.options.height });
  }

  draw() {
    const width = this.element.clientWidth;
    if (!width) return;
    this.plot?.destroy();
    const { series, height, sync, onpick, marks, format, isLog } = this.options;
    const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    const paths = (bars) => (bars ? uPlot.paths.bars({ size: [0.8, 24, 1] }) : undefined);
    this.plot = new uPlot({
      width, height,
      legend: { show: false },
      cursor: { sync: sync && { key: sync }, points: { size: 6 }, y: false, drag: { x: false, y: false } },
      scales: { x: { range: (plot) => shown(plot.data[0]) }, y: isLog ? { distr: 3, range: (_, low, high) => [10 ** Math.floor(Math.log10(low || 1e-3)), 10 ** Math.ceil(Math.log10(high || 1))] } : { range: (_, low, high) => [Math.min(low ?? 0, 0) * 1.08, Math.max(high ?? 0, 1e-9) * 1.08] } },
      axes: [{ ...axis, space: 70, size: 22, values: times }, { ...axis, size: 52, space: 26, ...(isLog ? { splits: decades } : {}), values: (_, all) => all.map((n) => (n === null ? "" : n ? format(n) : "0")) }],
      series: [{}, ...series.map((one) => {
        const stroke = colour(one.colour);
        return { label: one.label, stroke, width: one.bars ? 0 : 1.5, fill: one.bars ? stroke : undefined, paths: paths(one.bars), points: { show: false } };
      })],
      hooks: { setCursor: [(plot) => this.tell(plot.cursor.idx)], draw: [(plot) => mark(plot, marks())] },
    }, this.data, this.element);
    if (onpick) this.plot.over.addEventListener("click", () => this.plot.cursor.idx !== null && onpick(this.plot.cursor.idx));
  }

  tell(index) {
    const { series, format } = this.options;
    const values = series.map((one, i) => [one, this.data[i + 1]?.[index]]).filter(([, value]) => value !== undefined && value !== null);
    const time = index === null || index === undefined ? "" : new Date(this.data[0][index] * 1000).toLocaleTimeString("en-GB");
    this.told.replaceChildren(time, ...values.map(([one, value]) => h("span", {}, ` ${one.label} `, h("b", {}, format(value)))));
  }

  close() {
    this.resized.disconnect();
    dark.removeEventListener("change", this.redrawn);
    this.plot?.destroy();
  }
}

// From the first to the last time, and a minute at least.
const shown = (xs) => (xs?.length ? [Math.min(xs[0], xs.at(-1) - LEAST), xs.at(-1)] : [null, null]);

const times = (_, all) => all.map((at) => new Date(at * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...(all.length > 1 && all[1] - all[0] < 60 ? { second: "2-digit" } : {}) }));

// The powers of ten of a scale.
function decades(plot) {
  const { min, max } = plot.scales.y;
  return Array.from({ length: Math.round(Math.log10(max / min)) + 1 }, (_, i) => min * 10 ** i);
}

// Vertical lines at times.
function mark(plot, marks) {
  const { ctx, bbox } = plot;
  for (const at of marks) {
    const x = plot.valToPos(at, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.save();
    ctx.strokeStyle = colour("--bad");
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.restore();
  }
}

// The graph of tables and views. Up to 60 all are shown; of more the hottest with their neighbours, and what was searched
// for or unfolded: a "+5" at a node's side stands for neighbours that are not shown.
import { Graph as Dag, layout } from "./vendor/dagre.js";
import { h, pageOf, put, s } from "./dom.js";
import { count, percent, rate, rows } from "./format.js";
import { measured, store } from "./store.js";

const ALL = 60, HOTTEST = 8, FOUND = 30;
const WIDTH = 168, HEIGHT = 40;
const READABLE = 0.55, SMALLEST = 0.08;

export class Graph {
  constructor() {
    this.unfolded = new Set();
    this.isWhole = false;
    this.found = null;
    this.nodes = new Map();
    this.edges = [];
    this.view = { x: 0, y: 0, scale: 1 };
    this.least = READABLE;
    this.drawing = s("g");
    this.svg = s("svg", { role: "group", "aria-label": "Tables and views, from left to right", onwheel: (e) => this.zoom(e), onpointerdown: (e) => this.drag(e) },
      s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" }, s("path", { d: "M0 1 7 4 0 7z", class: "tip" }))), this.drawing);
    this.element = h("div", { class: "graph" }, this.svg, h("div", { class: "tools" },
      (this.folding = h("button", { onclick: () => this.toggleWhole() })),
      h("button", { title: "Show all of the drawing", onclick: () => this.fit(SMALLEST) }, "fit"),
      h("button", { title: "Larger", "aria-label": "larger", onclick: () => this.scale(1.25) }, "+"),
      h("button", { title: "Smaller", "aria-label": "smaller", onclick: () => this.scale(0.8) }, "−")));
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.resized = new ResizeObserver(() => this.place());
    this.resized.observe(this.element);
  }

  close() {
    this.resized.disconnect();
  }

  search(found) {
    this.found = found;
    this.unfolded.clear();
    this.shown = null;
    this.isMoved = false;
  }

  toggleWhole() {
    this.isWhole = !this.isWhole;
    this.unfolded.clear();
    this.shown = null;
    this.update();
    this.fit();
    if (this.isWhole) this.reveal(this.nodes.get(measured()[0].name), true);
  }

  // The names to be shown.
  wanted() {
    const names = [...store.relations.keys()];
    if (names.length <= ALL || this.isWhole) return new Set(names);
    this.begun ??= measured().slice(0, HOTTEST).map((each) => each.name);
    const roots = this.found ? [...this.found].slice(0, FOUND) : this.begun;
    const result = new Set([...roots, ...this.unfolded]);
    if (!this.found || roots.length <= 5) for (const name of roots) this.neighbours(name).slice(0, 6).forEach((other) => result.add(other));
    return new Set([...result].filter((name) => store.relations.has(name)));
  }

  neighbours(name) {
    return [...(store.relations.get(name)?.reads ?? []), ...(store.readers.get(name) ?? [])];
  }

  update() {
    if (!store.relations.size) return;
    const wanted = this.wanted();
    if (!this.shown || wanted.size !== this.shown.size || [...wanted].some((name) => !this.shown.has(name))) {
      this.shown = wanted;
      this.draw();
    }
    this.tell();
  }

  draw() {
    const dag = new Dag().setGraph({ rankdir: "LR", nodesep: 10, ranksep: 44, marginx: 36, marginy: 14 }).setDefaultEdgeLabel(() => ({}));
    for (const name of this.shown) dag.setNode(name, { width: WIDTH, height: HEIGHT });
    for (const name of this.shown) for (const read of store.relations.get(name).reads) if (this.shown.has(read) && read !== name) dag.setEdge(read, name);
    layout(dag);
    this.size = { width: dag.graph().width, height: dag.graph().height };
    this.edges = dag.edges().map(({ v, w }) => ({ v, w, line: s("path", { d: curve(dag.node(v), dag.edge(v, w).points, dag.node(w)), class: "edge", "marker-end": "url(#tip)" }) }));
    this.nodes = new Map(dag.nodes().map((name) => [name, this.node(name, dag.node(name))]));
    this.drawing.replaceChildren(...this.edges.map((edge) => edge.line), ...[...this.nodes.values()].map((node) => node.element));
    put(this.folding, this.isWhole ? "the hottest" : `all ${store.relations.size}`);
    this.folding.hidden = store.relations.size <= ALL;
    this.place();
    this.emphasize();
  }

  node(name, { x, y }) {
    const relation = store.relations.get(name);
    const told = s("text", { x: 10, y: 31, class: "told" });
    const heat = s("rect", { width: 4, height: HEIGHT, rx: 2, class: "heat" });
    const box = s("a", { href: pageOf(name), class: `node ${relation.kind}`, "aria-label": name, dataset: { name }, tabindex: this.nodes.size ? 0 : -1,
      onmouseenter: () => this.point(name), onmouseleave: () => this.point(null), onfocus: () => this.focused(name), onblur: () => this.point(null) },
      s("rect", { width: WIDTH, height: HEIGHT, rx: 5, class: "box" }), heat, s("text", { x: 10, y: 16, class: "title" }, fitted(name, relation.kind)), told, (this.hint = s("title")));
    const element = s("g", { transform: `translate(${x - WIDTH / 2} ${y - HEIGHT / 2})` }, box, this.stub(name, relation.reads, -7, "end"), this.stub(name, store.readers.get(name), WIDTH + 7, "start"));
    return { element, box, told, heat, hint: this.hint, x, y };
  }

  // The number of neighbours on one side that are not shown; a click shows them.
  stub(name, others, x, anchor) {
    const hidden = others.filter((other) => store.relations.has(other) && !this.shown.has(other));
    if (!hidden.length) return null;
    const unfold = () => {
      hidden.slice(0, 24).forEach((other) => this.unfolded.add(other));
      this.update();
      this.fit();
    };
    return s("text", { x, y: HEIGHT - 3, "text-anchor": anchor, class: "stub", onclick: unfold, onpointerdown: (event) => event.stopPropagation() }, `+${hidden.length}`);
  }

  tell() {
    for (const each of measured()) {
      const node = this.nodes.get(each.name);
      if (!node) continue;
      put(node.told, `${rows(each.rows)}${each.rate.changed ? ` · ${rate(each.rate.changed)}/s` : ""}${each.rate.busy >= 0.001 ? ` · ${percent(each.rate.busy)}` : ""}`);
      put(node.hint, `${each.kind} ${each.name}: ${percent(each.rate.busy)} of the time, ${rate(each.rate.visited)} rows visited a second`);
      node.heat.setAttribute("opacity", Math.min(1, each.rate.busy ** 0.4).toFixed(2));
    }
    for (const { v, line } of this.edges) line.setAttribute("stroke-width", (1 + Math.min(3, Math.log10(1 + (store.rates.get(v)?.changed ?? 0)))).toFixed(1));
  }

  focused(name) {
    this.point(name);
    this.reveal(this.nodes.get(name));
  }

  // Emphasizes a node with its edges, or those that were searched for.
  point(name) {
    this.pointed = name;
    this.emphasize();
  }

  emphasize() {
    const near = this.pointed && new Set([this.pointed, ...this.neighbours(this.pointed)]);
    const lit = near ?? this.found;
    for (const [name, node] of this.nodes) node.element.classList.toggle("dim", Boolean(lit) && !lit.has(name));
    for (const { v, w, line } of this.edges) line.classList.toggle("dim", near ? v !== this.pointed && w !== this.pointed : Boolean(lit));
  }

  // The drawing's place and scale

  place() {
    if (!this.isMoved) this.view = this.whole();
    this.drawing.setAttribute("transform", `translate(${this.view.x} ${this.view.y}) scale(${this.view.scale})`);
  }

  // The drawing as large as there is room for, but not smaller than that; so it stays until someone moves it.
  fit(least = READABLE) {
    this.least = least;
    this.isMoved = false;
    this.place();
  }

  whole() {
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!this.size || !width) return this.view;
    const scale = Math.max(this.least, Math.min(1.15, width / this.size.width, height / this.size.height));
    const begin = (room, size) => Math.max(0, (room - size * scale) / 2);
    return { scale, x: begin(width, this.size.width), y: begin(height, this.size.height) };
  }

  // Moves the drawing so that a node is in sight, or in the middle.
  reveal({ x, y }, inMiddle = false) {
    const { scale } = this.view, { clientWidth: width, clientHeight: height } = this.element;
    const moved = (offset, at, room, size) => {
      const margin = inMiddle ? room / 2 : (size / 2 + 8) * scale;
      return Math.min(Math.max(offset, margin - at * scale), room - margin - at * scale);
    };
    const view = { scale, x: moved(this.view.x, x, width, WIDTH), y: moved(this.view.y, y, height, HEIGHT) };
    if (view.x === this.view.x && view.y === this.view.y) return;
    this.isMoved = true;
    this.view = view;
    this.place();
  }

  scale(factor, at = { x: this.element.clientWidth / 2, y: this.element.clientHeight / 2 }) {
    const scale = Math.max(SMALLEST, Math.min(2.5, this.view.scale * factor)), by = scale / this.view.scale;
    this.isMoved = true;
    this.view = { scale, x: at.x - (at.x - this.view.x) * by, y: at.y - (at.y - this.view.y) * by };
    this.place();
  }

  zoom(event) {
    event.preventDefault();
    const box = this.svg.getBoundingClientRect();
    this.scale(event.deltaY < 0 ? 1.12 : 0.89, { x: event.clientX - box.left, y: event.clientY - box.top });
  }

  drag(event) {
    if (event.target.closest("a")) return;
    const from = { x: event.clientX - this.view.x, y: event.clientY - this.view.y };
    this.svg.setPointerCapture(event.pointerId);
    const move = (moved) => {
      this.isMoved = true;
      this.view = { ...this.view, x: moved.clientX - from.x, y: moved.clientY - from.y };
      this.place();
    };
    this.svg.addEventListener("pointermove", move);
    this.svg.addEventListener("lostpointercapture", () => this.svg.removeEventListener("pointermove", move), { once: true });
  }

  // Arrows: to the left what the node reads, to the right what reads it, up and down the nearest beside it.
  key(event) {
    const name = document.activeElement?.dataset?.name, here = this.nodes.get(name);
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!here || !ways[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    const [dx, dy] = ways[event.key];
    const beside = [...this.nodes].filter(([other]) => other !== name && (dx ? this.isNext(name, other, dx) : true));
    const off = (node) => (dx ? Math.abs(node.y - here.y) : Math.abs(node.x - here.x) * 4 + Math.abs(node.y - here.y));
    const onward = beside.filter(([, node]) => (dx ? (node.x - here.x) * dx > 0 : (node.y - here.y) * dy > 0));
    const [nearest] = onward.sort(([, a], [, b]) => off(a) - off(b));
    nearest?.[1].box.focus();
  }

  isNext(name, other, dx) {
    return (dx < 0 ? store.relations.get(name).reads : store.readers.get(name)).includes(other);
  }
}

// A name as long as there is room for in a node; names that begin alike still differ at their ends.
function fitted(name, kind) {
  const pen = (fitted.pen ??= document.createElement("canvas").getContext("2d"));
  pen.font = `${kind === "table" ? 400 : 600} 12px ${getComputedStyle(document.body).fontFamily}`;
  const short = (dropped) => {
    const left = name.length - dropped, end = Math.floor(left / 3);
    return dropped ? `${name.slice(0, left - end)}…${name.slice(name.length - end)}` : name;
  };
  let dropped = 0;
  while (dropped < name.length && pen.measureText(short(dropped)).width > WIDTH - 20) dropped++;
  return short(dropped);
}

// A smooth path from the right side of a node, through the points of an edge between them, to the left side of another.
function curve(from, points, to) {
  const stops = [{ x: from.x + WIDTH / 2, y: from.y }, ...points.slice(2, -2), { x: to.x - WIDTH / 2 - 1, y: to.y }];
  return stops.slice(1).reduce((path, b, i) => {
    const a = stops[i], middle = (a.x + b.x) / 2;
    return `${path}C${middle} ${a.y} ${middle} ${b.y} ${b.x} ${b.y}`;
  }, `M${stops[0].x} ${stops[0].y}`);
}

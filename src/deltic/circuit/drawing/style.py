"""The style of SVG pictures: inputs and outputs are blue, operators with state yellow, back-edges red."""

STYLE = """
  text { font: 11px "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2933; }
  .title { font-weight: bold; }
  .type { fill: #52606d; }
  .box { fill: #ffffff; stroke: #7b8794; }
  .end { fill: #e3f0ff; stroke: #2f6fb0; }
  .past { fill: #fff3d6; stroke: #b07a12; }
  .nest { fill: #f5f7fa; stroke: #7b8794; }
  .inner { fill: #fbfcfd; stroke: #cbd2d9; stroke-dasharray: 2 3; }
  .edge { fill: none; stroke: #52606d; }
  .back { fill: none; stroke: #b0323a; stroke-dasharray: 5 4; }
"""
MARKERS = """
  <marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">
    <path d="M0 0L8 4L0 8z" fill="#52606d"/></marker>
  <marker id="back" viewBox="0 0 8 8" refX="0" refY="4" markerWidth="7" markerHeight="7" orient="auto">
    <path d="M8 0L0 4L8 8z" fill="#b0323a"/></marker>
"""

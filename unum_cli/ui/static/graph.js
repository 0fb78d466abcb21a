// Draws the graphs of a page. Inner graphs are laid out first and are then boxes of a fixed size in the outer one.
import * as dagre from "./dagre.js";

const SVG = "http://www.w3.org/2000/svg";
const LINE = 16, PADDING = 12, MARKER = 16;
const context = document.createElement("canvas").getContext("2d");

export function drawAll() {
  for (const place of document.querySelectorAll("[data-graph]")) {
    place.replaceChildren(picture(JSON.parse(place.dataset.graph)));
  }
}

function picture(graph) {
  const laid = layOut(graph);
  const svg = element("svg", { viewBox: `0 0 ${laid.width} ${laid.height}`, width: laid.width, height: laid.height });
  svg.append(heads(), paint(laid));
  return svg;
}

function layOut(graph) {
  const made = new dagre.graphlib.Graph({ multigraph: true });
  made.setGraph({ nodesep: 26, ranksep: 30, marginx: PADDING, marginy: PADDING });
  const boxes = new Map(graph.nodes.map((node) => [node.id, measure(node)]));
  for (const [id, box] of boxes) made.setNode(id, { width: box.width, height: box.height });
  graph.edges.forEach((edge, number) => {
    const size = edge.label ? { width: wide(edge.label, 11) + 8, height: LINE, labelpos: "c" } : { width: 0, height: 0 };
    made.setEdge(edge.from, edge.to, size, String(number));
  });
  dagre.layout(made);
  return { ...made.graph(), boxes, made, edges: graph.edges };
}

function measure(node) {
  if (node.marker) return { node, inner: [], width: MARKER, height: MARKER };
  const text = Math.max(...node.lines.map((line, number) => wide(line, number ? 11 : 13)));
  const head = PADDING + LINE * node.lines.length;
  const inner = node.graphs.map(layOut);
  const across = inner.reduce((sum, each) => sum + each.width + PADDING, -PADDING);
  const width = Math.max(92, text + 2 * PADDING, inner.length ? across + 2 * PADDING : 0);
  const below = inner.length ? Math.max(...inner.map((each) => each.height)) + PADDING : PADDING / 2;
  return { node, inner, head, across, width, height: head + below };
}

function paint({ boxes, made, edges }) {
  const group = element("g", {});
  for (const [id, box] of boxes) group.append(paintBox(box, made.node(id)));
  edges.forEach((edge, number) => group.append(...paintEdge(edge, made.edge(edge.from, edge.to, String(number)))));
  return group;
}

function paintBox(box, at) {
  const left = at.x - box.width / 2, top = at.y - box.height / 2;
  const group = element("g", { transform: `translate(${left} ${top})`, class: `node ${box.node.status ?? ""}` });
  if (box.node.marker) {
    group.append(element("circle", { cx: MARKER / 2, cy: MARKER / 2, r: MARKER / 2 - 1, class: box.node.marker }));
    return group;
  }
  group.append(element("rect", { width: box.width, height: box.height, rx: 7 }));
  box.node.lines.forEach((line, number) => {
    const text = element("text", { x: box.width / 2, y: PADDING + LINE * (number + 0.6), class: number ? "detail" : "name" });
    text.textContent = line;
    group.append(text);
  });
  let x = (box.width - box.across) / 2;
  for (const each of box.inner) {
    const inner = element("g", { transform: `translate(${x} ${box.head})` });
    inner.append(element("rect", { width: each.width, height: each.height, rx: 5, class: "inner" }), paint(each));
    group.append(inner);
    x += each.width + PADDING;
  }
  return group;
}

function paintEdge(edge, { points, x, y }) {
  const classes = ["edge", edge.caught ? "caught" : "", edge.taken ? "" : "pale"].filter(Boolean).join(" ");
  const path = element("path", { d: curve(points), class: classes, "marker-end": "url(#head)" });
  if (!edge.label) return [path];
  const width = wide(edge.label, 11) + 8;
  const plate = element("rect", { x: x - width / 2, y: y - LINE / 2, width, height: LINE, rx: 3, class: "plate" });
  const text = element("text", { x, y: y + 4, class: "label" });
  text.textContent = edge.label;
  return [path, plate, text];
}

function curve(points) {
  const [start, ...rest] = points;
  const parts = [`M${start.x} ${start.y}`];
  rest.forEach((point, number) => {
    const next = rest[number + 1];
    if (!next) parts.push(`L${point.x} ${point.y}`);
    else parts.push(`Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`);
  });
  return parts.join(" ");
}

function heads() {
  const marker = element("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
  marker.append(element("path", { d: "M0 0.5 L8 4 L0 7.5 Z", class: "head" }));
  const defs = element("defs", {});
  defs.append(marker);
  return defs;
}

function wide(text, size) {
  context.font = `${size === 13 ? "600 " : ""}${size}px ${getComputedStyle(document.body).fontFamily}`;
  return context.measureText(text).width;
}

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

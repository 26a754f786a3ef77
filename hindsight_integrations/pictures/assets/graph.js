// The interactive graph of a bank: positions come from the page, this moves and filters them.
"use strict";
const { nodes, links } = data;
const most = Math.max(1, ...links.map((link) => link.n));
const shownKinds = new Set(nodes.map((node) => node.kind));
const STRETCH = 1.5, NAMED_FIRST = 25;
let chosen = null, wanted = "", every = false, least = 1;

nodes.forEach((node, index) => { node.index = index; node.near = []; node.y -= data.top; });
for (const link of links) {
  link.from = nodes[link.a];
  link.to = nodes[link.b];
  link.from.near.push([link.to, link]);
  link.to.near.push([link.from, link]);
}

search("Find a name", (text, go) => {
  wanted = text;
  const found = text && nodes.find((node) => matching(node) && isShown(node));
  if (go && found) { choose(found); focusOn(found); }
  later();
});
for (const kind of shownKinds.size > 1 ? shownKinds : []) {
  const { shape, colour: hue } = nodes.find((node) => node.kind === kind);
  check(kind, true, (on) => { on ? shownKinds.add(kind) : shownKinds.delete(kind); later(); }, sign(shape, colour(hue)));
}
if (most > 1) {
  const slider = make("input", { type: "range", min: 1, max: most, value: 1 });
  const shown = make("output", { textContent: "1" });
  slider.oninput = () => { least = Number(slider.value); shown.textContent = slider.value; later(); };
  tools.append(make("label", {}, "memories in common ≥", slider, shown));
}
if (links.some((link) => !link.drawn)) check("all connections", false, (on) => { every = on; later(); });

const matching = (node) =>
  !wanted || [node.name, ...node.aliases].some((name) => name.toLowerCase().includes(wanted));
const isMain = (node) => node.r > 12 || node.index === data.center;
const written = (node) => (node.name.length > 34 ? `${node.name.slice(0, 33)}…` : node.name);
const isShown = (node) => shownKinds.has(node.kind);
const isDrawn = (link) =>
  isShown(link.from) && isShown(link.to) && link.n >= least &&
  (every || link.drawn || link.from === chosen || link.to === chosen || link === chosen);

const lines = svg.append("g").selectAll("line").data(links).join("line").attr("class", "link")
  .on("click", (event, link) => { event.stopPropagation(); choose(link); });
lines.append("title").text((link) => `${link.from.name} – ${link.to.name}: ${counted(link.n, "memory", "memories")}`);
const groups = svg.append("g").selectAll("g").data(nodes).join("g").attr("class", "node")
  .attr("role", "button").attr("tabindex", (node) => (node.index === (data.center ?? 0) ? 0 : -1))
  .attr("aria-label", (node) =>
    `${node.name}, ${node.kind}, ${counted(node.mentions, "memory", "memories")}, ${counted(node.near.length, "connection", "connections")}`)
  .on("click", (event, node) => { event.stopPropagation(); choose(node); })
  .on("keydown", (event, node) => keys(event, node, nodes.filter(isShown)))
  .on("mouseenter", (event, node) => hover(node)).on("mouseleave", () => hover(null))
  .call(d3.drag().on("drag", (event, node) => {
    const { across, down, turned } = fit();
    const [dx, dy] = [event.dx / (across * view.k), event.dy / (down * view.k)];
    node.x += turned ? dy : dx;
    node.y += turned ? dx : dy;
    later();
  }));
groups.append("path").attr("class", "ring");
groups.append("path").attr("class", "mark").style("fill", (node) => colour(node.colour)).style("stroke", "var(--paper)").style("stroke-width", 1.5);
const names = svg.append("g").attr("aria-hidden", "true").selectAll("text").data(nodes).join("text")
  .attr("class", (node) => (isMain(node) ? "name main" : "name")).text(written);
svg.on("click", () => choose(null));

svg.select("g").attr("opacity", Math.min(1, Math.max(0.35, 12 / Math.sqrt(nodes.length))));

let over = null;
function hover(node) { over = node; later(); }

// The drawing is turned on a stage that is taller than wide, and stretched a little to fill it.
function fit() {
  const { width, height } = stage.getBoundingClientRect();
  const turned = height > width, tall = data.height - data.top;
  const [wide, high] = turned ? [tall, data.width] : [data.width, tall];
  const least = Math.min(width / wide, height / high);
  const across = Math.min(width / wide, STRETCH * least), down = Math.min(height / high, STRETCH * least);
  return { across, down, turned, left: (width - wide * across) / 2, top: (height - high * down) / 2, width, height };
}

function render() {
  const { across, down, turned, left, top, width, height } = fit();
  const size = Math.min(1.7, Math.max(0.75, Math.sqrt(Math.min(across, down) * view.k)));
  for (const node of nodes) {
    node.px = view.applyX(left + (turned ? node.y : node.x) * across);
    node.py = view.applyY(top + (turned ? node.x : node.y) * down);
    node.pr = node.r * size;
  }
  const focus = over || (chosen && chosen.near ? chosen : null);
  const near = focus && new Set([focus, ...focus.near.map(([other]) => other)]);
  const faded = (node) => (near && !near.has(node)) || !matching(node);
  lines.style("display", (link) => (isDrawn(link) ? null : "none"))
    .attr("x1", (link) => link.from.px).attr("y1", (link) => link.from.py)
    .attr("x2", (link) => link.to.px).attr("y2", (link) => link.to.py)
    .attr("stroke-width", (link) => (0.8 + 3.6 * Math.sqrt(link.n / most)) * size)
    .classed("near", (link) => focus && (link.from === focus || link.to === focus))
    .classed("chosen", (link) => link === chosen)
    .classed("faded", (link) => (focus && link.from !== focus && link.to !== focus) || (wanted && !matching(link.from) && !matching(link.to)));
  groups.style("display", (node) => (isShown(node) ? null : "none"))
    .attr("transform", (node) => `translate(${node.px},${node.py})`)
    .classed("faded", faded).classed("chosen", (node) => node === chosen)
    .attr("aria-pressed", (node) => node === chosen);
  groups.select(".mark").attr("d", (node) => outline(node.shape, node.pr));
  groups.select(".ring").attr("d", (node) => outline(node.shape, node.pr + 4));
  label(nodes.filter((node) => isShown(node) && node.px > -50 && node.px < width + 50 && node.py > -20 && node.py < height + 20), faded, width);
}

// Names where they fit: of the chosen, then of the most mentioned, which may cover lesser marks.
function label(visible, faded, width) {
  const marks = visible.map((node) => [node.px - node.pr, node.py - node.pr, node.px + node.pr, node.py + node.pr, node]);
  const order = [...visible].sort((a, b) => faded(a) - faded(b) || (b === over) - (a === over));
  const main = new Set(order.slice(0, NAMED_FIRST));
  const boxes = marks.filter(([, , , , node]) => main.has(node));
  const put = new Map();
  order.forEach((node, number) => {
    if (number === NAMED_FIRST) boxes.push(...marks.filter(([, , , , other]) => !main.has(other)));
    node.long ??= widthOf(written(node), isMain(node)) + 4;
    const gap = node.pr + 4, long = node.long;
    for (const [dx, dy] of [[gap, 0], [-long / 2, gap + 7], [-gap - long, 0], [-long / 2, -gap - 7]]) {
      const box = [node.px + dx, node.py + dy - 7, node.px + dx + long, node.py + dy + 7, node];
      if (box[0] > 0 && box[2] < width && boxes.every((other) => other[4] === node || other[0] > box[2] || other[2] < box[0] || other[1] > box[3] || other[3] < box[1])) {
        boxes.push(box);
        put.set(node, [node.px + dx, node.py + dy + 4]);
        break;
      }
    }
  });
  names.style("display", (node) => (put.has(node) ? null : "none")).classed("faded", faded)
    .attr("x", (node) => put.get(node)?.[0] ?? 0).attr("y", (node) => put.get(node)?.[1] ?? 0);
}

function focusOn(node) {
  groups.attr("tabindex", (each) => (each === node ? 0 : -1));
  groups.filter((each) => each === node).node().focus();
}

function choose(what) {
  chosen = what;
  if (!what) panel.hidden = true;
  else if (what.near) describe(what);
  else tell(`${what.from.name} – ${what.to.name}`,
    make("p", { textContent: `${counted(what.n, "memory mentions", "memories mention")} both` }), ...quotes(what.texts));
  later();
}

function describe(node) {
  const facts = [node.kind, counted(node.mentions, "memory", "memories")];
  if (node.aliases.length) facts.push(`also ${node.aliases.join(", ")}`);
  const near = [...node.near].sort(([, a], [, b]) => b.n - a.n);
  const items = near.map(([other, link]) => make("li", {},
    make("button", { className: "go", textContent: other.name, onclick: () => { choose(other); focusOn(other); } }), " ",
    make("button", { className: "go hint", textContent: counted(link.n, "memory", "memories"), onclick: () => choose(link) })));
  tell(node.name, make("p", { textContent: facts.join(" · ") }),
    make("h3", { textContent: "Latest memories" }), ...quotes(node.texts),
    make("h3", { textContent: counted(near.length, "connection", "connections") }), make("ul", {}, ...items));
}

render();
if (data.center !== null) choose(nodes[data.center]);

// The interactive timeline of a bank: zoomed in, marks part and texts appear.
"use strict";
const { events, lanes, types } = data;
const LEFT = 118, RIGHT = 24, STRIP = 46, BOTTOM = 30, WIDEST = 240, LEAST = 60;
const shownTypes = new Set(Object.keys(types));
let chosen = null, wanted = "";

search("Find words", (text, go) => {
  wanted = text;
  const found = text && go && events.filter((event) => isShown(event));
  if (found && found.length) choose({ events: found, heading: counted(found.length, "memory", "memories") });
  later();
});
const kinds = Object.keys(types).filter((kind) => events.some((event) => event.type === kind));
for (const kind of kinds.length > 1 ? kinds : []) {
  check(kind, true, (on) => { on ? shownTypes.add(kind) : shownTypes.delete(kind); later(); }, sign(types[kind].shape, colour(types[kind].colour)));
}
tools.append(make("span", { className: "hint", textContent: "open marks: said then, the text names no time" }));

const isShown = (event) => shownTypes.has(event.type) &&
  (!wanted || `${event.text} ${event.speaker}`.toLowerCase().includes(wanted));

const strip = svg.append("g"), axis = svg.append("g").attr("class", "axis"), rows = svg.append("g");
const spans = svg.append("g"), marks = svg.append("g"), texts = svg.append("g");
svg.on("click", () => choose(null));
let dots = [];

function render() {
  const { width, height } = stage.getBoundingClientRect();
  if (width <= LEFT + RIGHT) return; // a frame that is not shown yet
  const x = view.rescaleX(d3.scaleUtc([data.low, data.high], [LEFT, width - RIGHT]));
  zooming.scaleExtent([0.2, 20000]).extent([[LEFT, 0], [width - RIGHT, height]]);
  const tall = (height - STRIP - BOTTOM) / Math.max(1, lanes.length);
  const middle = (lane) => STRIP + tall * (lane + 0.5);
  const inside = (at) => at >= LEFT - 3 && at <= width - RIGHT + 3;
  const visible = events.filter(isShown);

  axis.attr("transform", `translate(0,${height - BOTTOM})`)
    .call(d3.axisBottom(x).ticks(Math.max(2, width / 130)).tickSize(-(height - BOTTOM - 6)).tickPadding(8).tickFormat(moment))
    .selectAll(".tick line").attr("stroke-dasharray", "2 4");
  rows.selectAll("line").data(lanes).join("line").attr("x1", LEFT).attr("x2", width - RIGHT)
    .attr("y1", (_, n) => middle(n)).attr("y2", (_, n) => middle(n)).style("stroke", "var(--line)");
  rows.selectAll("text").data(lanes).join("text").attr("class", "main").attr("text-anchor", "end")
    .attr("x", LEFT - 12).attr("y", (_, n) => middle(n) + 4).text((name) => fitting(name, LEFT - 22));

  const bins = new Array(Math.max(10, Math.floor((width - LEFT - RIGHT) / 9))).fill(0);
  const wide = (width - LEFT - RIGHT) / bins.length;
  for (const event of visible) {
    const bin = Math.floor((x(event.at) - LEFT) / wide);
    if (bin >= 0 && bin < bins.length) bins[bin] += 1;
  }
  const most = Math.max(1, ...bins);
  strip.selectAll("rect").data(bins).join("rect").attr("x", (_, n) => LEFT + n * wide).attr("width", wide - 1)
    .attr("y", (count) => STRIP - 8 - (STRIP - 16) * count / most).attr("height", (count) => (STRIP - 16) * count / most)
    .style("fill", "var(--grey)");

  dots = [];
  const bars = [];
  for (let lane = 0; lane < lanes.length; lane += 1) {
    let last = null;
    for (const event of visible) {
      if (!event.lanes.includes(lane)) continue;
      const start = x(event.at), end = x(event.end);
      if (end - start > 9 && end > LEFT && start < width - RIGHT)
        bars.push([Math.max(LEFT, start), Math.min(width - RIGHT, end), middle(lane), event]);
      if (!inside(start)) continue;
      if (last && start - last.px < 9) last.events.push(event);
      else dots.push((last = { px: start, py: middle(lane), lane, events: [event] }));
    }
  }
  spans.selectAll("line").data(bars).join("line").attr("x1", (bar) => bar[0]).attr("x2", (bar) => bar[1])
    .attr("y1", (bar) => bar[2]).attr("y2", (bar) => bar[2])
    .style("stroke", (bar) => colour(types[bar[3].type].colour)).attr("stroke-width", 5).attr("stroke-opacity", 0.35);

  const held = chosen && new Set(chosen.events);
  const joined = marks.selectAll("g").data(dots, (dot) => `${dot.lane} ${dot.events[0].id}`).join((enter) => {
    const group = enter.append("g").attr("class", "dot").attr("role", "button").attr("tabindex", -1)
      .on("click", (event, dot) => { event.stopPropagation(); choose(dot); })
      .on("keydown", (event, dot) => keys(event, dot, dots));
    group.append("path").attr("class", "ring");
    group.append("path").attr("class", "mark");
    group.append("title");
    return group;
  });
  joined.attr("transform", (dot) => `translate(${dot.px},${dot.py})`)
    .attr("aria-label", (dot) => `${lanes[dot.lane]}, ${dot.events[0].when}: ${dot.events.length > 1 ? counted(dot.events.length, "memory", "memories") : dot.events[0].text}`)
    .classed("chosen", (dot) => held && dot.events.some((event) => held.has(event)));
  if (dots.length && !marks.select('[tabindex="0"]').node()) joined.filter((dot) => dot === dots[0]).attr("tabindex", 0);
  joined.select("title").text((dot) => dot.events.slice(0, 5).map((event) => `${event.when}: ${event.text}`).join("\n"));
  const radius = (dot) => Math.min(11, 4.5 + 1.2 * Math.sqrt(dot.events.length - 1));
  joined.select(".ring").attr("d", (dot) => outline(types[dot.events[0].type].shape, radius(dot) + 4));
  joined.select(".mark").attr("d", (dot) => outline(types[dot.events[0].type].shape, radius(dot)))
    .style("fill", (dot) => (dot.events[0].named && !dot.events[0].gone ? colour(types[dot.events[0].type].colour) : "var(--paper)"))
    .style("stroke", (dot) => colour(types[dot.events[0].type].colour)).style("stroke-width", 1.6);

  // Texts above and below a lane, where they fit: to the right of a mark, or at the edge to its left.
  const written = [];
  const lines = Math.max(1, Math.floor((tall / 2 - 8) / 15));
  for (let lane = 0; lane < lanes.length; lane += 1) {
    const free = Array.from({ length: tall < 56 ? 1 : 2 * lines }, () => LEFT - 8);
    for (const dot of dots.filter((each) => each.lane === lane)) {
      const row = free.findIndex((end) => end <= dot.px - 5);
      if (row < 0) continue;
      const more = dot.events.length > 1 ? ` (+${dot.events.length - 1})` : "";
      const { text } = dot.events[0];
      const right = width - 8 - dot.px, before = dot.px - free[row];
      const aside = right < Math.min(WIDEST / 2, widthOf(text + more)) && before > right;
      const room = Math.min(WIDEST, aside ? before : right);
      if (room < LEAST) continue;
      const label = fitting(text, room - widthOf(more)) + more;
      const start = aside ? dot.px + 5 - widthOf(label) : dot.px - 4;
      free[row] = start + widthOf(label) + 14;
      const offset = row % 2 ? 23 + 15 * ((row - 1) / 2) : -15 - 15 * (row / 2);
      written.push([start, dot.py + offset, label]);
    }
  }
  texts.selectAll("text").data(written).join("text").attr("class", "name")
    .attr("x", (label) => label[0]).attr("y", (label) => label[1]).text((label) => label[2]);
}

function moment(at) {
  const text = (options) => at.toLocaleString("en-GB", { timeZone: "UTC", ...options });
  if (at.getUTCHours() || at.getUTCMinutes() || at.getUTCSeconds())
    return text({ hour: "2-digit", minute: "2-digit", ...(at.getUTCSeconds() ? { second: "2-digit" } : {}) });
  if (at.getUTCDate() > 1) return text({ day: "numeric", month: "short" });
  return at.getUTCMonth() ? text({ month: "long" }) : String(at.getUTCFullYear());
}

function fitting(text, room) {
  if (widthOf(text) <= room) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const half = Math.ceil((low + high) / 2);
    if (widthOf(`${text.slice(0, half)}…`) <= room) low = half; else high = half - 1;
  }
  return low ? `${text.slice(0, low).trimEnd()}…` : "";
}

function focusOn(dot) {
  marks.selectAll("g").attr("tabindex", (each) => (each === dot ? 0 : -1));
  marks.selectAll("g").filter((each) => each === dot).node().focus();
}

function choose(dot) {
  chosen = dot;
  if (!dot) panel.hidden = true;
  else {
    const items = dot.events.slice(0, 100).flatMap((event) => [
      make("h3", { textContent: event.named ? event.when : `said ${event.when}` }),
      make("p", { className: "text", textContent: `${event.speaker ? `${event.speaker}: ` : ""}${event.text}` }),
      make("p", { className: "hint", textContent: [event.type, event.named ? `said ${event.said}` : "", event.gone ? "invalidated" : "", event.lanes.map((lane) => lanes[lane]).join(", ")].filter(Boolean).join(" · ") }),
    ]);
    tell(dot.heading ?? (dot.events.length > 1 ? counted(dot.events.length, "memory", "memories") : lanes[dot.lane]), ...items);
  }
  later();
}

events.forEach((event, index) => { event.id = index; });
render();

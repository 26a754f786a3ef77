// Parts that the interactive pictures share. Texts of memories are only ever set as textContent.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const stage = document.getElementById("stage");
document.body.classList.add("live");

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// The head: title, note and tools; and the panel that says more of what is chosen.
const tools = make("div", { className: "tools" });
const said = make("div", { className: "hidden" });
said.setAttribute("aria-live", "polite");
document.body.prepend(
  make("header", {},
    make("h1", { textContent: data.title }),
    make("p", { textContent: data.note }), tools, said));
const panel = make("aside", { hidden: true });
panel.setAttribute("aria-label", "Details");
document.querySelector("main").append(panel);

function tell(heading, ...parts) {
  const close = make("button", { className: "close", textContent: "×", onclick: () => choose(null) });
  close.setAttribute("aria-label", "Close details");
  panel.replaceChildren(make("h2", { textContent: heading }), ...parts, close);
  panel.hidden = false;
  panel.scrollTop = 0;
  said.textContent = heading;
}

const quotes = (texts) => texts.map((text) => make("p", { className: "text", textContent: text }));
const counted = (number, one, many) => `${number} ${number === 1 ? one : many}`;

const colour = (name) => `var(--${name})`;
const SHAPES = {
  square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  diamond: [[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]],
  triangle: [[0, -1.2], [1.15, 0.85], [-1.15, 0.85]],
  hexagon: [[-0.55, -0.95], [0.55, -0.95], [1.1, 0], [0.55, 0.95], [-0.55, 0.95], [-1.1, 0]],
};
function outline(shape, r) {
  if (!(shape in SHAPES)) return `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0`;
  return `M${SHAPES[shape].map(([x, y]) => `${x * r},${y * r}`).join("L")}Z`;
}

const pen = document.createElement("canvas").getContext("2d");
function widthOf(text, bold = false) {
  pen.font = `${bold ? "600 " : ""}12px "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif`;
  return pen.measureText(text).width;
}

stage.replaceChildren(); // the still picture
for (const name of ["tabindex", "role", "aria-labelledby"]) stage.removeAttribute(name);
const svg = d3.select(stage).append("svg").attr("role", "group").attr("aria-label", data.title);

function search(label, matches) {
  const field = make("input", { type: "search", placeholder: label });
  field.setAttribute("aria-label", label);
  field.oninput = () => matches(field.value.trim().toLowerCase(), false);
  field.onkeydown = (event) => {
    if (event.key === "Enter") matches(field.value.trim().toLowerCase(), true);
  };
  tools.append(field);
}

function check(label, checked, changed, sign) {
  const box = make("input", { type: "checkbox", checked });
  box.onchange = () => changed(box.checked);
  tools.append(make("label", {}, box, ...(sign ? [sign] : []), label));
}

function sign(shape, fill) {
  const drawn = d3.create("svg").attr("width", 14).attr("height", 14).attr("aria-hidden", "true");
  drawn.append("path").attr("transform", "translate(7,7)").attr("d", outline(shape, 5)).style("fill", fill);
  return drawn.node();
}

// Zooming with the wheel, a pinch, buttons and keys.
let view = d3.zoomIdentity;
let waiting = false;
function later() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; render(); });
}
const zooming = d3.zoom().on("zoom", (event) => { view = event.transform; later(); });
svg.call(zooming).on("dblclick.zoom", null);
function zoomBy(factor) { svg.call(zooming.scaleBy, factor); }
function zoomBack() { svg.call(zooming.transform, d3.zoomIdentity); }
for (const [text, label, act] of [
  ["+", "Zoom in", () => zoomBy(1.4)], ["−", "Zoom out", () => zoomBy(1 / 1.4)], ["Fit", "Show all", zoomBack],
]) {
  const button = make("button", { textContent: text, onclick: act, title: label });
  button.setAttribute("aria-label", label);
  tools.append(button);
}

// Keys: arrows go to the nearest mark in that direction, Enter chooses, Escape lets go.
const DIRECTIONS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
function nearest(marks, from, [dx, dy]) {
  let best = null, least = Infinity;
  for (const mark of marks) {
    const x = mark.px - from.px, y = mark.py - from.py;
    const along = x * dx + y * dy, across = Math.abs(x * dy) + Math.abs(y * dx);
    if (along > 0.5 && along + 2.5 * across < least) [best, least] = [mark, along + 2.5 * across];
  }
  return best;
}
function keys(event, mark, marks) {
  if (event.key in DIRECTIONS) {
    const next = nearest(marks, mark, DIRECTIONS[event.key]);
    if (next) focusOn(next);
  } else if (event.key === "Enter" || event.key === " ") choose(mark);
  else return;
  event.preventDefault();
}
document.addEventListener("keydown", (event) => {
  if (event.target.tagName === "INPUT" || event.ctrlKey || event.metaKey) return;
  if (event.key === "Escape") choose(null);
  else if (event.key === "+" || event.key === "=") zoomBy(1.4);
  else if (event.key === "-") zoomBy(1 / 1.4);
  else if (event.key === "0") zoomBack();
});
new ResizeObserver(() => later()).observe(stage);

"use strict";

// What the page has beyond its HTML: links that unfold what they lead to, search, and arrows.
// Texts stay texts: no markup is made of them.

const holder = document.getElementById("rows");
const rows = [...holder.querySelectorAll(".row")];
const around = (element) => element.parentElement.closest("details");

// Links. A browser would follow them out of a frame.

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (link === null) return;
  event.preventDefault();
  const target = document.getElementById(link.hash.slice(1));
  if (target.closest("[hidden]") !== null) searchFor("");
  for (let part = target.closest("details"); part !== null; part = around(part)) part.open = true;
  document.querySelector(".reached")?.classList.remove("reached");
  const reached = target.querySelector("summary") ?? target;
  reached.classList.add("reached");
  reached.focus();
  reached.scrollIntoView({ block: "center" });
});

// Search: for rows that have all words, in them or in the names of what they are in.

const form = document.querySelector("form");
const [search, found] = [form.querySelector("input"), form.querySelector("output")];
const texts = new Map();
let openBefore = new Set();

for (const row of rows) {
  const told = (parts) => [...parts].map((part) => part.textContent.toLowerCase()).join(" ");
  const names = told(row.querySelectorAll(":scope > summary > .name, :scope > dl > .like"));
  const path = `${texts.get(around(row))?.path ?? ""} ${names}`;
  texts.set(row, { path, text: `${path} ${told(row.querySelectorAll(":scope > :not(.row)"))}` });
}

function searchFor(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isAsked = words.length > 0;
  const isHit = (row) => words.every((word) => texts.get(row).text.includes(word));
  const hits = new Set(isAsked ? rows.filter(isHit) : []);
  if (found.value === "") openBefore = new Set(rows.filter((row) => row.open));
  const shown = new Set(hits);
  for (let row of hits) while ((row = around(row)) !== null) shown.add(row);
  for (const row of rows) {
    row.hidden = isAsked && !shown.has(row);
    const isAround = isAsked && [...row.children].some((part) => shown.has(part));
    row.open = isAround || openBefore.has(row);
    row.classList.toggle("hit", hits.has(row));
  }
  search.value = text;
  found.value = isAsked ? `${hits.size} of ${rows.length} rows` : "";
  drawSoon();
}

form.hidden = false;
form.addEventListener("input", () => searchFor(search.value));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  holder.querySelector(".hit > summary")?.focus();
});
for (const button of form.querySelectorAll("button")) {
  button.hidden = !rows.some((row) => texts.get(row).text.includes(button.value));
  button.addEventListener("click", () => {
    searchFor(search.value === button.value ? "" : button.value);
  });
}

// Arrows: those to one target share a lane beside the rows.

/** How far from one another arrows leave or meet a row. */
const PORT = 13;
const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
picture.ariaHidden = "true"; // the list of references says the same
holder.append(picture);
let isDrawn = true;

function draw(name, attributes, text = "") {
  const element = document.createElementNS(picture.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  picture.append(element);
}

/** Return the arrows between rows that show, which stand for those folded into them. */
function shownArrows() {
  const arrows = new Map();
  const showing = (id) => {
    let shown = document.getElementById(id);
    for (let row = around(shown); row !== null; row = around(row)) if (!row.open) shown = row;
    return shown;
  };
  for (const { dataset, className } of document.querySelectorAll("#arrows li")) {
    const start = showing(dataset.from);
    const end = dataset.to ? showing(dataset.to) : null;
    if (start === end || start.hidden || end?.hidden) continue;
    const key = `${start.id} ${end?.id}`;
    if (!arrows.has(key)) arrows.set(key, { start, end, number: 0, kind: "" });
    arrows.get(key).number += Number(dataset.number);
    arrows.get(key).kind ||= className;
  }
  return [...arrows.values()];
}

/** Give each target a lane, the shorter the nearer, where no other one lies. */
function lanesOf(arrows) {
  const numbers = new Map(rows.map((row, number) => [row, number]));
  const ending = Map.groupBy(arrows.filter(({ end }) => end !== null), ({ end }) => end);
  const lanes = [...ending].map(([end, all]) => {
    const places = [end, ...all.map(({ start }) => start)].map((row) => numbers.get(row));
    return { end, all, top: Math.min(...places), bottom: Math.max(...places) };
  });
  lanes.sort((one, other) => one.bottom - one.top - other.bottom + other.top);
  const taken = [];
  for (const lane of lanes) {
    const isBeside = ({ top, bottom }) => lane.bottom < top || bottom < lane.top;
    lane.place = [...taken, []].findIndex((others) => others.every(isBeside));
    (taken[lane.place] ??= []).push(lane);
    for (const arrow of lane.all) {
      arrow.lane = lane;
      arrow.isUp = numbers.get(arrow.start) > numbers.get(lane.end);
    }
  }
  return lanes;
}

function drawArrows() {
  isDrawn = true;
  const arrows = shownArrows();
  const lanes = lanesOf(arrows);
  // Numbers stand before the first lane, and what leads nowhere ends there.
  const longest = Math.max(0, ...arrows.map(({ number }) => `${number}`.length));
  const first = 20 + 7 * longest + (arrows.some(({ end }) => end === null) ? 12 : 0);
  const number = Math.max(0, ...lanes.map(({ place }) => place + 1));
  const between = Math.min(16, (holder.clientWidth * 0.4 - first) / number);
  const width = arrows.length === 0 ? 0 : first + number * between + 4;
  holder.style.setProperty("--gutter", `${width}px`);

  // What leaves or meets a row does it in an order in which lines cross as little as they can.
  const ports = [
    ...arrows.map((arrow) => ({ arrow, lane: arrow.lane, row: arrow.start, isUp: arrow.isUp })),
    ...lanes.map((lane) => ({ lane, row: lane.end, isUp: lane.all.some(({ isUp }) => !isUp) })),
  ];
  const order = ({ lane, isUp }) => (lane ? (isUp ? lane.place : 2000 - lane.place) : 1000);
  ports.sort((one, other) => order(one) - order(other));
  const byRow = Map.groupBy(ports, ({ row }) => row);
  for (const row of rows) {
    row.firstChild.style.setProperty("--ports", `${PORT * (byRow.get(row)?.length ?? 0)}px`);
  }
  const { top, height: whole } = holder.getBoundingClientRect();
  for (const [row, all] of byRow) {
    const { y, height } = row.firstChild.getBoundingClientRect();
    for (const [index, port] of all.entries()) {
      port.y = y + height / 2 - top + (index - (all.length - 1) / 2) * PORT;
      if (port.arrow === undefined) port.lane.y = port.y;
    }
  }

  picture.replaceChildren();
  picture.setAttribute("width", width);
  picture.setAttribute("height", whole);
  for (const { arrow, lane, y } of ports.filter(({ arrow }) => arrow !== undefined)) {
    const x = lane === undefined ? first - 16 : first + lane.place * between;
    if (lane === undefined) {
      draw("path", { class: "dead", d: `M0 ${y}H${x - 2}M${x} ${y - 4}l8 8m0-8l-8 8` });
      continue;
    }
    const turn = lane.y < y ? -8 : 8;
    const d = `M0 ${y}H${x - 8}q8 0 8 ${turn}V${lane.y - turn}q0 ${turn} -8 ${turn}H7`;
    draw("path", { class: `arrow tone-${lane.place % 6} ${arrow.kind}`, d });
  }
  for (const { arrow, lane, y } of ports) {
    const tone = `tone-${lane?.place % 6}`;
    if (arrow === undefined) draw("path", { class: `head ${tone}`, d: `M1 ${y}l8-4.5v9z` });
    else if (arrow.number > 1) draw("text", { x: 9, y: y + 3.5 }, arrow.number.toLocaleString("en"));
  }
}

function drawSoon() {
  if (isDrawn) requestAnimationFrame(drawArrows);
  isDrawn = false;
}

holder.addEventListener("toggle", drawSoon, true);
new ResizeObserver(drawSoon).observe(holder);

// A notebook is told how high the page is.

if (window.parent !== window) {
  const tell = () => parent.postMessage({ zarrXgroupHeight: document.body.offsetHeight }, "*");
  document.body.className = "framed";
  new ResizeObserver(tell).observe(document.body);
}

"use strict";

// Links that unfold their target, search, and arrows. Texts are never made into markup.

const holder = document.getElementById("rows");
const rows = [...holder.querySelectorAll(".row")];
const rowAround = (element) => element.parentElement.closest("details");

// Links. In a frame, a browser would leave the page.

document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (link === null) return;
  event.preventDefault();
  const target = document.getElementById(link.hash.slice(1));
  if (target.closest("[hidden]") !== null) searchFor("");
  for (let part = target.closest("details"); part !== null; part = rowAround(part)) part.open = true;
  document.querySelector(".reached")?.classList.remove("reached");
  const reached = target.querySelector("summary") ?? target;
  reached.classList.add("reached");
  reached.focus();
  reached.scrollIntoView({ block: "center" });
});

// Search for rows that have all words in their text or in the names of the rows around them.

const form = document.querySelector("form");
const [search, status] = [form.querySelector("input"), form.querySelector("output")];
const texts = new Map();
let openBefore = new Set();

for (const row of rows) {
  const textOf = (parts) => [...parts].map((part) => part.textContent.toLowerCase()).join(" ");
  const names = textOf(row.querySelectorAll(":scope > summary > .name, :scope > dl > .like"));
  const path = `${texts.get(rowAround(row))?.path ?? ""} ${names}`;
  texts.set(row, { path, text: `${path} ${textOf(row.querySelectorAll(":scope > :not(.row)"))}` });
}

function searchFor(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isSearch = words.length > 0;
  const isHit = (row) => words.every((word) => texts.get(row).text.includes(word));
  const hits = new Set(isSearch ? rows.filter(isHit) : []);
  if (status.value === "") openBefore = new Set(rows.filter((row) => row.open));
  const shown = new Set(hits);
  for (let row of hits) while ((row = rowAround(row)) !== null) shown.add(row);
  for (const row of rows) {
    row.hidden = isSearch && !shown.has(row);
    const holdsHit = isSearch && [...row.children].some((part) => shown.has(part));
    row.open = holdsHit || openBefore.has(row);
    row.classList.toggle("hit", hits.has(row));
  }
  search.value = text;
  status.value = isSearch ? `${hits.size} of ${rows.length} rows` : "";
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

// Arrows. Those to the same target share a lane to the right of the rows.

/** The distance between the ends of arrows at a row. */
const PORT = 13;
const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
picture.ariaHidden = "true"; // the list of references has the same content
holder.append(picture);
let isDrawn = true;

function draw(name, attributes, text = "") {
  const element = document.createElementNS(picture.namespaceURI, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  picture.append(element);
}

/** Return the arrows between visible rows. A folded row has the arrows of the rows in it. */
function shownArrows() {
  const arrows = new Map();
  const showing = (id) => {
    let shown = document.getElementById(id);
    for (let row = rowAround(shown); row !== null; row = rowAround(row)) if (!row.open) shown = row;
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

/** Give each target a lane that is free between its rows. Short lanes are near the rows. */
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
    const isFree = ({ top, bottom }) => lane.bottom < top || bottom < lane.top;
    lane.place = [...taken, []].findIndex((others) => others.every(isFree));
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
  // Numbers are before the first lane, where unresolved references end.
  const longest = Math.max(0, ...arrows.map(({ number }) => `${number}`.length));
  const first = 20 + 7 * longest + (arrows.some(({ end }) => end === null) ? 12 : 0);
  const number = Math.max(0, ...lanes.map(({ place }) => place + 1));
  const between = Math.min(16, (holder.clientWidth * 0.4 - first) / number);
  const width = arrows.length === 0 ? 0 : first + number * between + 4;
  holder.style.setProperty("--gutter", `${width}px`);

  // The order of the ends at a row keeps the number of crossings small.
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

// Send the height of the page to the notebook.

if (window.parent !== window) {
  const sendHeight = () => parent.postMessage({ zarrXgroupHeight: document.body.offsetHeight }, "*");
  document.body.className = "framed";
  new ResizeObserver(sendHeight).observe(document.body);
}

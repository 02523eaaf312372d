"use strict";

// Links that unfold their target, and search. Texts are never made into markup.

const rows = [...document.querySelectorAll("#rows .row")];
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
  const names = textOf(row.querySelectorAll(":scope > summary > .name, :scope > ul .like"));
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
}

form.hidden = false;
form.addEventListener("input", () => searchFor(search.value));
form.addEventListener("submit", (event) => {
  event.preventDefault();
  document.querySelector(".hit > summary")?.focus();
});
for (const button of form.querySelectorAll("button")) {
  button.hidden = !rows.some((row) => texts.get(row).text.includes(button.value));
  button.addEventListener("click", () => {
    searchFor(search.value === button.value ? "" : button.value);
  });
}

// Send the height of the page to the notebook.

if (window.parent !== window) {
  const sendHeight = () => parent.postMessage({ zarrXgroupHeight: document.body.offsetHeight }, "*");
  document.body.className = "framed";
  new ResizeObserver(sendHeight).observe(document.body);
}

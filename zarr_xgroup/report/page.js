"use strict";

// The page of one explanation. Everything that comes from the store becomes text, never markup:
// elements are made here, and only their text is given what was read.

(async () => {
  const { explanation, alike, texts, counts } = await unpacked(byId("data").textContent);

  /** How many rows are unfolded without being asked for. */
  const ROWS_AT_FIRST = 40;
  /** How many members of a group, or lines of details, are shown at once. */
  const BATCH = 50;
  /** The kind of problem that is a hint: whole stores declare no principal convention. */
  const UNDECLARED = "no principal convention";
  /** How many arrays a problem names. */
  const NAMED = 5;
  /** From how many on groups that are alike, and arrays above other groups, are one row. */
  const ALIKE = 4;
  const MANY = 6;
  /** How many letters of a name a row shows. */
  const LONGEST = 120;
  /** How many arrows are told in words. */
  const TOLD = 20;
  /** How far arrows that leave or meet a row are from one another. */
  const PORT = 13;

  // Texts and elements.

  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  }

  function byId(id) {
    return document.getElementById(id);
  }

  /** Return a text of the page with the values of its fields. */
  function say(key, values = {}) {
    return texts[key].replace(/\{(\w+)\}/g, (_, name) => visible(values[name]));
  }

  function inWords(number) {
    return number.toLocaleString("en");
  }

  /** Return how many problems, or other things, there are, with those that some stand for. */
  function numberOf(items) {
    return [...items].reduce((sum, { count: number = 1 }) => sum + number, 0);
  }

  /** Return a counting text in the form that its number asks for. */
  function count(key, number) {
    const { forms, which } = counts[key];
    const form = which[number < which.length ? number : 100 + (number % 100)];
    return forms[form].replace("{count}", inWords(number));
  }

  /** Return a text with what is not to be seen, or turns text around, as Python escapes it. */
  function visible(text) {
    return String(text).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (letter) => {
      const code = letter.codePointAt(0).toString(16);
      if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
      return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
    });
  }

  /** Return a text as it is shown in a row: without the middle if it is too long. */
  function shortened(text) {
    const shown = visible(text);
    const half = LONGEST / 2;
    return shown.length <= LONGEST ? shown : `${shown.slice(0, half)}\u2026${shown.slice(-half)}`;
  }

  /** Make an element; texts among what it contains stay text. */
  function make(name, attributes = {}, ...contents) {
    return filled(document.createElement(name), attributes, contents);
  }

  function draw(name, attributes = {}, ...contents) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    return filled(element, attributes, contents);
  }

  function filled(element, attributes, contents) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null) element.setAttribute(name, value);
    }
    element.replaceChildren(...contents.filter((content) => content !== null));
    return element;
  }

  function button(attributes, run, ...contents) {
    const made = make("button", { type: "button", ...attributes }, ...contents);
    made.addEventListener("click", () => run(made));
    return made;
  }

  function parentPath(path) {
    return path.slice(0, path.lastIndexOf("/")) || "/";
  }

  // What there is: nodes of the store, and those that the page adds to fold others.

  /**
   * A row of the tree. Kinds: group, array, arrays, alike, elsewhere, store, outside, more. Its
   * `parent` is the group around it, its `holder` the row that it is folded into, `members` are the
   * rows below it as they are now, `limit` of which are shown, `hints` problems that are told of it
   * alone and of the root.
   */
  function node(kind, path, name, parent = null, found = null) {
    const parts = { groups: [], arrays: [], members: [], limit: BATCH, holder: null };
    const told = { problems: [], hints: [], outgoing: [], incoming: [] };
    return { kind, path, name, parent, found, ...parts, ...told };
  }

  const root = node("group", explanation.group, explanation.group);
  const elsewhere = node("elsewhere", "", texts.elsewhere);
  const nodes = new Map([[root.path, root]]);
  const allGroups = [root];
  const allArrays = [];

  function nearest(path) {
    let known = path;
    while (!nodes.has(known) && known !== "/" && known !== "") known = parentPath(known);
    return nodes.get(known) ?? root;
  }

  function addGroup(found, number) {
    if (found.path !== root.path) add(found, "group", nearest(parentPath(found.path)), allGroups);
    const group = nodes.get(found.path);
    Object.assign(group, { found, shape: alike[number] });
    for (const array of found.arrays) add(array, "array", group, allArrays);
  }

  function add(found, kind, parent, all) {
    const name = found.path.slice(found.path.lastIndexOf("/") + 1);
    const added = node(kind, found.path, name, parent, found);
    parent[`${kind}s`].push(added);
    nodes.set(added.path, added);
    all.push(added);
  }

  /** Return the node of a place, or that of what is not below the group that is explained. */
  function nodeAt(place) {
    const isBelow = root.path === "/" || `${place.node}/`.startsWith(`${root.path}/`);
    if (place.store === null && isBelow) return nearest(place.node);
    const kind = place.store === null ? "outside" : "store";
    const path = place.store ?? place.node;
    const key = `${kind} ${path}`;
    if (!nodes.has(key)) {
      nodes.set(key, node(kind, path, path, elsewhere));
      elsewhere.groups.push(nodes.get(key));
    }
    return nodes.get(key);
  }

  function addReference(reference) {
    const { source, leads_to: leadsTo, arrays } = reference;
    reference.from = nodeAt(source);
    reference.to = leadsTo === null ? null : nodeAt(leadsTo);
    for (const user of new Set([reference.from, ...known(arrays)])) user.outgoing.push(reference);
    reference.to?.incoming.push(reference);
  }

  function addProblem(problem) {
    const { kind, place, arrays } = problem;
    if (kind === UNDECLARED) {
      for (const array of known(arrays)) array.hints.push(problem);
      root.problems.push(problem);
      return;
    }
    const about = new Set(known(arrays));
    if (about.size === 0) about.add(place === null ? root : nodeAt(place));
    for (const one of about) one.problems.push(problem);
  }

  function known(paths) {
    return paths.map((path) => nodes.get(path)).filter(Boolean);
  }

  /** Say how many arrays, and which problems, there are in a node with all below it. */
  function sumUp(item, parts = [...item.groups, ...item.arrays]) {
    item.total = { arrays: item.kind === "array" ? 1 : 0, problems: new Set(item.problems) };
    for (const { total } of parts) {
      item.total.arrays += total.arrays;
      for (const problem of total.problems) item.total.problems.add(problem);
    }
  }

  // What is asked for.

  const flags = {
    problems: (item) => item.problems.some(({ kind }) => kind !== UNDECLARED),
    broken: (item) => item.outgoing.some(({ to }) => to === null),
    missing: (item) => item.kind === "array" && item.found.missing.length > 0,
  };
  /** What is unfolded, by path. */
  let opened = new Set();
  let openedBefore = opened; // what was unfolded without filters
  let hits = new Set(); // the nodes that are what was asked for
  let matching = null; // those that are shown, and how many arrays of hits they hold, or null for all
  let rows = [];
  let arrows = [];
  let selected = null;
  let active = root;

  function declared(item) {
    return item.found?.conventions ?? [];
  }

  function searchedText(item) {
    const { dims = [], dtype = "", coordinates = [], crs } = item.found ?? {};
    const names = item.kind === "array" ? [...dims, dtype, ...coordinates] : [];
    names.push(crs?.name ?? "", crs?.code ?? "", ...declared(item).map(({ name }) => name));
    return [item.path, ...names].join("\n").toLowerCase();
  }

  function applyFilters() {
    const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const convention = byId("convention").value;
    const asked = [...byId("flags").querySelectorAll("[aria-pressed=true]")];
    const isHit = (item) =>
      asked.every(({ name }) => flags[name](item)) &&
      (convention === "" || declared(item).some(({ name }) => name === convention)) &&
      words.every((word) => (item.searched ??= searchedText(item)).includes(word));
    const isAsked = words.length + asked.length > 0 || convention !== "";
    const all = { groups: allGroups, arrays: allArrays, places: elsewhere.groups };
    hits = new Set(isAsked ? Object.values(all).flat().filter(isHit) : []);
    // What nodes refer to is shown, too: without it arrows would lead nowhere.
    const targets = [...hits].flatMap(({ outgoing }) => outgoing.map(({ to }) => groupOf(to)));
    const items = [...hits, ...new Set(targets)].filter(Boolean);
    if (matching === null) openedBefore = opened;
    matching = isAsked ? withParents(items) : null;
    fold();
    // Of groups that are alike, only hits are unfolded.
    const isHidden = (item) => !hits.has(item) && item.holder?.kind === "alike";
    if (isAsked) opened = around(items.map((item) => (isHidden(item) ? item.holder : item)));
    else opened = openedBefore.size === 0 ? unfolded() : openedBefore;
    [active] = isAsked ? [...hits, root] : [active];
    show();
    const told = Object.entries(all)
      .map(([key, items]) => [key, items.length, items.filter((item) => hits.has(item)).length])
      .filter(([key, , number]) => number > 0 || key === "arrays")
      .map(([key, of, number]) => say("found", { number: inWords(number), all: count(key, of) }));
    byId("found").textContent = isAsked ? told.join(", ") : "";
  }

  /** Unfold what is around the first of nodes, as long as there is room. */
  function around(items) {
    const paths = new Set([root.path]);
    let room = 2 * BATCH;
    for (let { holder } of items) {
      for (; holder !== null && !paths.has(holder.path); holder = holder.holder) {
        paths.add(holder.path);
        room -= Math.min(holder.members.length, BATCH);
      }
      if (room < 0) break;
    }
    return paths;
  }

  function groupOf(item) {
    return item?.kind === "array" ? item.parent : item;
  }

  function withParents(items) {
    const all = new Map();
    for (const item of items) {
      const number = item.kind === "array" ? 1 : 0;
      for (let up = item; up !== null; up = up.parent) all.set(up, (all.get(up) ?? 0) + number);
    }
    return all;
  }

  // Folding.

  function isShown(item) {
    return matching === null || matching.has(item);
  }

  /** Give each node the rows below it, with groups that are alike, and many arrays, as one row. */
  function fold() {
    for (const group of allGroups) {
      const arrays = group.arrays.filter(isShown);
      const groups = foldedGroups(group, group.groups.filter(isShown));
      const isLong = arrays.length >= MANY && groups.length > 0;
      setMembers(group, [...(isLong ? [folded("arrays", group, arrays)] : arrays), ...groups]);
    }
    setMembers(elsewhere, elsewhere.groups.filter(isShown));
  }

  function isPseudo(item) {
    return item.kind === "alike" || item.kind === "arrays";
  }

  function folded(kind, parent, members) {
    const row = node(kind, `${kind} ${members[0].path}`, "", parent);
    setMembers(row, members);
    sumUp(row, members);
    return row;
  }

  function foldedGroups(parent, groups) {
    const byShape = Map.groupBy(groups, (group) => group.shape);
    return groups.flatMap((group) => {
      const same = byShape.get(group.shape);
      if (same.length < ALIKE) return [group];
      return same[0] === group ? [folded("alike", parent, same)] : [];
    });
  }

  function setMembers(holder, members) {
    Object.assign(holder, { members, limit: BATCH });
    for (const member of members) member.holder = holder;
  }

  /** Unfold from the top down as long as there is room; groups of arrays only all or none. */
  function unfolded() {
    const paths = new Set();
    let room = ROWS_AT_FIRST;
    const last = [];
    const pending = topRows();
    for (const item of pending) {
      const { members } = item;
      if (isPseudo(item)) continue;
      if (item !== root && members.every((member) => member.kind === "array")) {
        last.push(item);
      } else if (item === root || members.length <= room) {
        room -= members.length;
        paths.add(item.path);
        pending.push(...members);
      }
    }
    const needed = last.reduce((sum, item) => sum + item.members.length, 0);
    return needed <= room ? new Set([...paths, ...last.map((item) => item.path)]) : paths;
  }

  function topRows() {
    return elsewhere.members.length > 0 ? [root, elsewhere] : [root];
  }

  /** Return the rows that are to be seen, from top to bottom. */
  function visibleRows() {
    const found = [];
    const pending = [];
    const addRows = (items, level) => {
      const of = items.length;
      pending.push(...items.map((item, index) => ({ item, level, index, of })).reverse());
    };
    addRows(topRows(), 1);
    while (pending.length > 0) {
      const row = pending.pop();
      found.push(row);
      if (!isOpen(row.item)) continue;
      const { members, limit } = row.item;
      row.item.more = members.length > limit ? moreOf(row.item, members.length - limit) : null;
      const shown = [...members.slice(0, limit), row.item.more].filter(Boolean);
      addRows(shown, row.level + 1);
    }
    return found;
  }

  function moreOf(holder, number) {
    const row = node("more", `more ${holder.path}`, count("more", number), holder);
    row.holder = holder;
    sumUp(row);
    return row;
  }

  function isOpen(item) {
    return opened.has(item.path) && item.members.length > 0;
  }

  // The tree.

  function show() {
    rows = visibleRows();
    rows.forEach((row, number) => {
      row.number = number;
      row.item.row = row;
    });
    active = nearestRow(active).item;
    arrows = arrowsBetween();
    byId("tree").replaceChildren(...rows.map(rowElement));
    drawPicture();
  }

  /** Return the row of a node, or of what it is folded into, or that of how many more there are. */
  function nearestRow(item) {
    const isSeen = (one) => rows[one.row?.number]?.item === one;
    let shown = item;
    while (shown !== null && !isSeen(shown)) {
      const { holder, parent } = shown;
      const isLater = holder !== null && isOpen(holder) && isSeen(holder);
      shown = (isLater && holder.more) || (holder ?? parent);
    }
    return (shown ?? root).row;
  }

  function rowElement(row) {
    const { item } = row;
    const isFoldable = item.members.length > 0;
    const attributes = {
      id: `row-${row.number}`,
      class: `row ${item.kind}`,
      role: "treeitem",
      tabindex: item === active ? "0" : "-1",
      "aria-level": row.level,
      "aria-posinset": row.index + 1,
      "aria-setsize": row.of,
      "aria-expanded": isFoldable ? String(isOpen(item)) : null,
      "aria-selected": item.kind === "more" ? null : String(item === selected),
    };
    const card = make(
      "div",
      { class: "card" },
      make("span", { class: isFoldable ? "twisty" : "twisty none", "aria-hidden": "true" }),
      make(hits.has(item) ? "mark" : "span", { class: "name" }, make("bdi", {}, rowName(item))),
      ...remarks(item).map((text) => make("span", { class: "remark" }, shortened(text))),
      ...conventionsOf(item).slice(0, 3).map(chip),
      badge(item),
      make("span", { class: "unseen" }, toldArrows(row)),
    );
    row.element = make("div", attributes, card);
    row.element.style.setProperty("--level", Math.min(row.level - 1, 12));
    return row.element;
  }

  function rowName(item) {
    if (item.kind === "alike") {
      const names = item.members.map((member) => shortened(member.name));
      return say("range", { first: names[0], last: names.at(-1) });
    }
    return item.kind === "arrays" ? count("arrays", item.members.length) : shortened(item.name);
  }

  /** Return what a row says beside its name. */
  function remarks(item) {
    const { kind, found, members, total } = item;
    const all = count("arrays", total.arrays);
    const below = kind === "alike" ? members : [item];
    const number = below.reduce((sum, one) => sum + (matching?.get(one) ?? 0), 0);
    const named = number > 0 ? say("found", { number: inWords(number), all }) : all;
    const arrays = total.arrays > 0 ? [named] : [];
    if (kind === "group") return arrays;
    if (kind === "alike") return [count("alike", members.length), ...arrays];
    if (kind === "elsewhere") return [count("places", members.length)];
    if (kind !== "array") return [];
    return [sizes(found), found.dtype, ...(found.is_coordinate ? [texts.coordinate] : [])];
  }

  function chip({ name, tier }) {
    return make("span", { class: `chip ${tier}` }, make("bdi", {}, shortened(name)));
  }

  /** Return the conventions that an array, or the arrays of a group, follow, and how many do. */
  function conventionsOf(item) {
    if (item.kind === "alike") return conventionsOf(item.members[0]);
    const found = new Map();
    for (const { name, tier } of [item, ...item.arrays].flatMap(declared)) {
      found.set(name, { name, tier, arrays: (found.get(name)?.arrays ?? 0) + 1 });
    }
    return [...found.values()];
  }

  function sizes({ dims, shape }) {
    const pairs = dims.map((name, index) => `${name} ${shape[index] ?? "?"}`);
    return pairs.length > 0 ? pairs.join(" \u00d7 ") : texts.scalar;
  }

  /** Return how many problems there are, or else which coordinates an array lacks. */
  function badge({ kind, found, total: { problems } }) {
    const missing = kind === "array" ? found.missing : [];
    const number = count("problems", numberOf(problems));
    if (problems.size > 0) return marked([...problems].some(isLoss), number);
    if (missing.length === 0) return null;
    const names = shortened(missing.join(", "));
    return make("span", { class: "badge lacking" }, say("without", { names }));
  }

  function marked(isWrong, text) {
    return make("span", { class: isWrong ? "badge problem" : "badge" }, text);
  }

  /** Return whether a problem is one that costs something, and no choice or hint. */
  function isLoss({ kind, lost }) {
    return kind === "problem" || kind === "metadata" || lost !== "";
  }

  // References as arrows between groups.

  /** Gather all references into arrows between rows, and count them. */
  function arrowsBetween() {
    const found = new Map();
    for (const { from, to, by_fallback: isFallback } of explanation.references) {
      if (!isShown(from) || (to !== null && !isShown(groupOf(to)))) continue;
      // The row of an array is an end only if it is selected.
      const isExact = selected?.kind === "array" && [from, to].includes(selected);
      const rowOf = (item) => item && nearestRow(isExact ? item : groupOf(item));
      const [start, end] = [rowOf(from), rowOf(to)];
      const key = `${start.number} ${end?.number ?? ""}`;
      if (!found.has(key)) found.set(key, { from: start, to: end, references: 0, fallbacks: 0 });
      const arrow = found.get(key);
      arrow.references += 1;
      arrow.fallbacks += isFallback ? 1 : 0;
    }
    // Those of the selected row, if it has any, stand out; at the root all do.
    const row = selected === null || selected === root ? null : nearestRow(selected);
    const isOwn = ({ from, to }) => row !== null && (from === row || to === row);
    const all = [...found.values()];
    const isAny = all.some(isOwn);
    for (const arrow of all) arrow.weight = isAny && !isOwn(arrow) ? "faint" : "";
    return all;
  }

  /** Return in words which arrows begin and end at a row. */
  function toldArrows(row) {
    const told = arrows.filter(({ from, to }) => from === row || to === row).map((arrow) => {
      const references = count("references", arrow.references);
      if (arrow.from === arrow.to) return say("inside", { references });
      if (arrow.to === null) return say("nowhere", { references });
      const [key, end] = arrow.from === row ? ["to", arrow.to] : ["from", arrow.from];
      return say(key, { references, name: fullName(end.item) });
    });
    return firstOf(told).map((text) => `; ${text}`).join("");
  }

  function pictureText() {
    const told = arrows.filter(({ from, to }) => from !== to).map(({ from, to, references }) =>
      say(to === null ? "arrowNowhere" : "arrow", {
        references: count("references", references),
        from: fullName(from.item),
        name: to === null ? "" : fullName(to.item),
      }),
    );
    return [texts.picture, ...firstOf(told)].join(" ");
  }

  function firstOf(told) {
    const left = told.length - TOLD;
    return left > 0 ? [...told.slice(0, TOLD), count("more", left)] : told;
  }

  function fullName(item) {
    return isPseudo(item) || item === elsewhere ? rowName(item) : shortened(item.path);
  }

  /** Give all arrows to one target a lane, so that lanes of targets do not lie on one another. */
  function lanesOf() {
    const joining = arrows.filter((arrow) => arrow.to !== null && arrow.to !== arrow.from);
    const lanes = [...Map.groupBy(joining, (arrow) => arrow.to)].map(([to, ending]) => {
      const numbers = [to.number, ...ending.map((arrow) => arrow.from.number)];
      return { to, ending, top: Math.min(...numbers), bottom: Math.max(...numbers) };
    });
    const height = (lane) => lane.bottom - lane.top;
    lanes.sort((one, other) => height(one) - height(other) || one.top - other.top);
    const taken = [];
    for (const lane of lanes) {
      const isBeside = ({ top, bottom }) => lane.bottom < top || bottom < lane.top;
      lane.place = [...taken, []].findIndex((spans) => spans.every(isBeside));
      (taken[lane.place] ??= []).push(lane);
    }
    return lanes;
  }

  /** Say at which height each arrow leaves or meets its row, so that none crosses without need. */
  function portsOf(lanes) {
    const ports = arrows
      .filter((arrow) => arrow.to === null)
      .map((arrow) => ({ row: arrow.from, arrow, order: 1000 }));
    const port = (lane, row, isUp, arrow) => {
      ports.push({ row, lane, arrow, order: isUp ? lane.place : 2000 - lane.place });
      return ports.at(-1);
    };
    for (const lane of lanes) {
      const { to, ending } = lane;
      lane.end = port(lane, to, ending.some(({ from }) => from.number < to.number));
      for (const arrow of ending) port(lane, arrow.from, arrow.from.number > to.number, arrow);
    }
    return Map.groupBy(ports.sort((one, other) => one.order - other.order), (port) => port.row);
  }

  /** Make room in rows for what leaves or meets them, and say where in the picture that is. */
  function placePorts(ports) {
    for (const [{ element }, all] of ports) {
      element.classList.add("joined");
      element.style.minHeight = `${all.length * PORT + 10}px`;
    }
    for (const [{ element }, all] of ports) {
      const middle = element.offsetTop + element.offsetHeight / 2;
      all.forEach((port, index) => {
        port.y = middle + (index - (all.length - 1) / 2) * PORT;
      });
    }
  }

  function drawPicture() {
    const holder = byId("hierarchy");
    holder.querySelector("svg")?.remove();
    const hasArrows = arrows.some((arrow) => arrow.to !== arrow.from);
    for (const sign of byId("legend").querySelectorAll("svg")) sign.parentNode.hidden = !hasArrows;
    const lanes = lanesOf();
    // Numbers stand before the first lane, and what leads nowhere ends there.
    const longest = Math.max(...arrows.map((arrow) => inWords(arrow.references).length));
    const first = 20 + 7 * longest + (arrows.some((arrow) => arrow.to === null) ? 12 : 0);
    const number = Math.max(0, ...lanes.map((lane) => lane.place + 1));
    const between = Math.min(16, (holder.clientWidth * 0.4 - first) / Math.max(number, 1));
    for (const lane of lanes) lane.x = first + lane.place * between;
    const width = hasArrows ? first + number * between + 4 : 0;
    holder.style.setProperty("--gutter", `${width}px`);
    const ports = portsOf(lanes);
    placePorts(ports);
    if (!hasArrows) return;
    const attributes = { width, height: byId("tree").offsetHeight, role: "img" };
    attributes["aria-label"] = pictureText();
    const drawn = [...ports.values()].flat().flatMap((port) => drawnPort(port, first - 16));
    // Numbers and heads lie on lines.
    drawn.sort((one, other) => one.matches(".number, .head") - other.matches(".number, .head"));
    holder.append(draw("svg", attributes, ...drawn));
  }

  /** Draw what leaves or meets a row: the head of a lane, a line to it, or one to nowhere. */
  function drawnPort({ arrow, lane, y }, nowhere) {
    // One of six colours, so that lanes beside one another differ.
    const tone = lane && `tone-${lane.place % 6}`;
    if (arrow === undefined) {
      const isFaint = lane.ending.every((ending) => ending.weight === "faint");
      const head = `head ${tone}${isFaint ? " faint" : ""}`;
      return [draw("path", { class: head, d: `M1 ${y}l8 -4.5v9z` })];
    }
    const { weight, fallbacks, references } = arrow;
    const line =
      lane === undefined
        ? { class: `dead ${weight}`, d: `M0 ${y}H${nowhere - 2}M${nowhere} ${y - 4}l8 8m0 -8l-8 8` }
        : {
            class: `arrow ${tone} ${weight}${fallbacks > 0 ? " fallback" : ""}`,
            d: turning(lane.x, y, lane.end.y),
          };
    const place = { class: `number ${weight}`, x: 9, y: y + 3.5 };
    const number = references > 1 ? [draw("text", place, inWords(references))] : [];
    return [draw("path", line), ...number];
  }

  /** Return the path of a line that goes out to a lane, along it, and back to the rows. */
  function turning(x, from, to) {
    const turn = to < from ? -1 : 1;
    const radius = Math.min(8, Math.abs(to - from) / 2);
    return (
      `M0 ${from}H${x - radius}q${radius} 0 ${radius} ${turn * radius}` +
      `V${to - turn * radius}q0 ${turn * radius} ${-radius} ${turn * radius}H7`
    );
  }

  // Details of what is selected.

  function showDetails() {
    const parts = selected === null ? [] : detailsOf(selected);
    filled(byId("details"), {}, parts).hidden = selected === null;
    document.body.classList.toggle("selected", selected !== null);
  }

  function detailsOf(item) {
    const label = { class: "close", "aria-label": texts.close };
    const about = { array: aboutArray, group: aboutGroup }[item.kind]?.(item) ?? [];
    return [
      button(label, () => select(null), "\u00d7"),
      make("p", { class: "kind" }, texts[item.kind]),
      make("h2", { id: "details-title" }, text(item.path)),
      ...about,
      ...aboutReferences(item),
    ];
  }

  function aboutArray({ found, parent, problems, hints }) {
    const { name = "", code, variable } = found.crs ?? {};
    const crs = [name, code, variable].filter(Boolean).join(" \u00b7 ");
    const given = parent.found.coordinates.filter(
      ({ name, arrays }) => found.coordinates.includes(name) || arrays.includes(found.path),
    );
    return [
      section("problems", [...problems, ...hints], aboutProblem),
      facts([
        [texts.dimensions, text(sizes(found))],
        [texts.type, text([found.dtype, found.times].filter(Boolean).join("; "))],
        [texts.crs, crs === "" ? null : text(crs)],
        [texts.missing, found.missing.length === 0 ? null : text(found.missing.join(", "))],
        [texts.group, link(parent)],
      ]),
      section("conventions", found.conventions, aboutConvention),
      section("coordinates", given, aboutCoordinate),
    ];
  }

  function aboutGroup(group) {
    const { found, total, arrays, groups } = group;
    const number = ({ arrays: all }) => [" ", count("arrays", all)];
    return [
      section("problems", [...total.problems], aboutProblem),
      facts([[texts.arraysBelow, text(inWords(total.arrays))]]),
      aboutLevels(found?.levels ?? []),
      section("conventions", conventionsOf(group), (one) => [chip(one), ...number(one)]),
      section("coordinates", found?.coordinates ?? [], aboutCoordinate),
      section("arrays", arrays, (array) => [link(array), " ", text(sizes(array.found))]),
      section("groups", groups, (below) => [link(below)]),
    ];
  }

  /** Make a table of the levels of a pyramid, in batches; nothing of none. */
  function aboutLevels(levels) {
    const heads = [texts.level, texts.resolution, texts.cells, texts.chunk, texts.factor];
    const head = make("tr", {}, ...heads.map((name) => make("th", { scope: "col" }, name)));
    const body = make("tbody");
    const table = make("table", {}, make("thead", {}, head), body);
    return section("levels", levels, levelCells, { list: table, body, tag: "tr" });
  }

  function levelCells({ path, resolution, unit, shape, chunk, factor, refinement }) {
    const known = refinement === null ? "?" : `refinement level ${refinement}`;
    const size = resolution === null ? known : `${lengths(resolution)} ${unit}`;
    const cells = [size, pair(shape), pair(chunk), lengths(factor)];
    const name = nodes.has(path) ? link(nodes.get(path)) : text(path);
    return [name, ...cells.map(text)].map((cell) => make("td", {}, cell));
  }

  function pair(numbers) {
    return numbers === null ? "?" : numbers.join(" \u00d7 ");
  }

  /** Return two lengths, or the one that both are. */
  function lengths(numbers) {
    return numbers !== null && numbers[0] === numbers[1] ? String(numbers[0]) : pair(numbers);
  }

  /** Tell the references of a node; a group has those of its arrays, too. */
  function aboutReferences(item) {
    const all = (key) => [...new Set([item, ...item.arrays].flatMap((part) => part[key]))];
    return [
      section("references", all("outgoing"), aboutReference),
      section("referredBy", all("incoming"), ({ source, from }) => [placed(source, from)]),
    ];
  }

  function aboutProblem(problem) {
    const { kind, text: told, place, lost, arrays } = problem;
    const isSaid = place === null || (place.pointer === "" && arrays.includes(place.node));
    const others = known(arrays).filter(
      (array) => array !== selected && (isSaid || array.path !== place.node),
    );
    const named = others.slice(0, NAMED).flatMap((array) => [" ", link(array)]);
    const left = others.length > NAMED ? ` ${count("more", others.length - NAMED)}` : "";
    return [
      marked(isLoss(problem), visible(kind)),
      " ",
      text(told),
      lost === "" ? null : line(say("lost", { lost })),
      others.length === 0 ? null : line(texts.concerns, ...named, left),
      isSaid ? null : line(texts.at, " ", placed(place, nodeAt(place))),
    ];
  }

  function aboutConvention(convention) {
    const { tier, declared_in: declaredIn } = convention;
    const where = nodes.has(declaredIn) ? link(nodes.get(declaredIn)) : text(declaredIn ?? "");
    return [
      chip(convention),
      " ",
      texts[tier] ?? visible(tier),
      line(...(declaredIn === null ? [texts.undeclared] : [texts.declaredIn, " ", where])),
    ];
  }

  function aboutCoordinate({ name, dims, kind, origin, text: told, is_index: isIndex, bounds }) {
    return [
      make("b", {}, text(name)),
      " ",
      text(`(${dims.join(", ")})`),
      " ",
      make("span", { class: "chip kind" }, texts[kind] ?? visible(kind)),
      isIndex ? make("span", { class: "remark" }, ` ${texts.index}`) : null,
      told === "" ? null : line(text(told)),
      origin === null ? null : line(texts.storedIn, " ", placed(origin, nodeAt(origin))),
      bounds === null ? null : line(say("bounds", { name: bounds })),
    ];
  }

  function aboutReference(reference) {
    const { source, from, target, to, text: told } = reference;
    return [
      make("code", {}, text(target)),
      line(texts.at, " ", placed(source, from)),
      to === null
        ? line(marked(true, texts.leadsNowhere))
        : line(texts.leadsTo, " ", placed(reference.leads_to, to)),
      reference.by_fallback ? line(marked(false, texts.byFallback)) : null,
      told === "" ? null : line(text(told)),
    ];
  }

  /** Make a place: a button that leads to its node, and the pointer into its document. */
  function placed({ store, node: path, pointer }, item) {
    const isHere = store === null && item.path === path;
    const where = isHere ? link(item) : text(store === null ? path : `${store}|${path}`);
    const rest = pointer === "" ? null : make("code", {}, text(`#${pointer}`));
    return make("span", { class: "place" }, where, rest);
  }

  function text(shown) {
    return make("bdi", {}, visible(shown));
  }

  function line(...contents) {
    return make("div", { class: "line" }, ...contents);
  }

  function link(item) {
    return button({ class: "link" }, () => reveal(item), text(item.path));
  }

  function facts(pairs) {
    const shown = pairs.filter(([, value]) => value !== null);
    const terms = shown.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
    return make("dl", {}, ...terms);
  }

  /** Make a list under a heading that counts it, in batches; nothing of an empty one. */
  function section(key, items, about, { list = make("ul"), body = list, tag = "li" } = {}) {
    if (items.length === 0) return null;
    const number = make("span", {}, inWords(numberOf(items)));
    const heading = make("h3", {}, `${texts[`${key}Title`]} `, number);
    const left = [...items];
    const addBatch = (pressed) => {
      body.append(...left.splice(0, BATCH).map((item) => make(tag, {}, ...about(item))));
      more.textContent = count("more", left.length);
      more.hidden = left.length === 0;
      if (pressed && more.hidden) byId("details").focus(); // what is hidden has no focus
    };
    const more = button({ class: "link more" }, addBatch);
    addBatch();
    return make("section", { class: key }, heading, list, more);
  }

  // What users do.

  function showActive(item) {
    active = item;
    show();
    focusActive();
  }

  function select(item) {
    selected = item;
    showActive(item ?? active);
    showDetails();
  }

  /** Unfold all around a node, or show all again if it is filtered out, and select it. */
  function reveal(item) {
    if (!isShown(item)) resetFilters();
    for (let inner = item; inner.holder !== null; inner = inner.holder) {
      const { holder } = inner;
      opened.add(holder.path);
      holder.limit = Math.max(holder.members.indexOf(inner) + 1, holder.limit);
    }
    select(item);
  }

  /** Do what a row is for: show its details, fold or unfold it, show more. */
  function activate(item) {
    if (item.kind === "more") {
      const { members, limit } = item.holder;
      item.holder.limit += BATCH;
      showActive(members[limit]);
    } else if (isPseudo(item) || item === elsewhere || item === selected) {
      toggle(item);
    } else {
      if (item.members.length > 0) opened.add(item.path);
      select(item);
    }
  }

  function toggle(item) {
    if (item.members.length === 0) return;
    if (!opened.delete(item.path)) opened.add(item.path);
    showActive(item);
  }

  function focusActive() {
    moveTo(nearestRow(active).number);
  }

  function moveTo(number) {
    const { element } = rows[Math.max(0, Math.min(number, rows.length - 1))];
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "nearest" });
  }

  function rowAt(target) {
    const element = target.closest("[role=treeitem]");
    return element && rows[Number(element.id.slice("row-".length))];
  }

  /** Whatever moves the focus, keys are for the row that has it. */
  function onFocus({ target }) {
    nearestRow(active).element.tabIndex = -1;
    active = rowAt(target).item;
    target.tabIndex = 0;
  }

  function onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { item, number } = nearestRow(active);
    const keys = {
      ArrowDown: () => moveTo(number + 1),
      ArrowUp: () => moveTo(number - 1),
      Home: () => moveTo(0),
      End: () => moveTo(rows.length - 1),
      ArrowRight: () => (isOpen(item) ? moveTo(number + 1) : toggle(item)),
      ArrowLeft: () => {
        if (isOpen(item)) toggle(item);
        else if (item.holder !== null) moveTo(nearestRow(item.holder).number);
      },
      Enter: () => activate(item),
      " ": () => activate(item),
    };
    const run = keys[event.key] ?? (event.key.length === 1 ? () => moveToName(event.key) : null);
    if (run === null) return;
    event.preventDefault();
    run();
  }

  /** Go to the next row that begins with a letter. */
  function moveToName(letter) {
    const { number } = nearestRow(active);
    const after = [...rows.slice(number + 1), ...rows.slice(0, number)];
    const isNamed = ({ item }) => rowName(item).toLowerCase().startsWith(letter.toLowerCase());
    moveTo((after.find(isNamed) ?? rows[number]).number);
  }

  function onClick({ target }) {
    const item = rowAt(target)?.item;
    if (item === undefined) return;
    if (target.closest(".twisty:not(.none)") !== null) toggle(item);
    else activate(item);
  }

  function onEscape({ key, target }) {
    if (key !== "Escape") return;
    if (matching !== null) resetFilters();
    else if (selected !== null) select(null);
    if (!target.isConnected) focusActive(); // the row that had the focus is drawn anew
  }

  function resetFilters() {
    byId("filters").reset();
    for (const flag of byId("flags").children) flag.ariaPressed = "false";
    applyFilters();
  }

  // The parts of the page that stay.

  function makeFlags() {
    for (const [key, holds] of Object.entries(flags)) {
      const number = [...allGroups, ...allArrays].filter(holds).length;
      const toggleFlag = (pressed) => {
        pressed.ariaPressed = String(pressed.ariaPressed === "false");
        applyFilters();
      };
      const contents = [`${texts[`${key}Flag`]} `, make("span", {}, inWords(number))];
      const flag = button({ name: key, "aria-pressed": "false" }, toggleFlag, ...contents);
      if (number > 0) byId("flags").append(flag);
    }
  }

  function makeConventions() {
    const names = [...new Set(allArrays.flatMap(declared).map(({ name }) => name))].sort();
    const options = names.map((name) => make("option", { value: name }, shortened(name)));
    byId("convention").append(make("option", { value: "" }, texts.anyConvention), ...options);
    byId("convention").hidden = names.length === 0;
  }

  function makeSummary() {
    const { references, problems } = explanation;
    const broken = references.filter((reference) => reference.to === null).length;
    const parts = [
      say("format", { number: explanation.zarr_format }),
      explanation.is_consolidated ? texts.consolidated : texts.notConsolidated,
      count("groups", allGroups.length),
      count("arrays", allArrays.length),
      count("references", references.length),
      ...(broken > 0 ? [count("broken", broken)] : []),
      count("problems", numberOf(problems)),
    ];
    byId("summary").append(...parts.map((part) => make("span", {}, part)));
  }

  /** Say what the lines and the colours of the picture mean. */
  function makeLegend() {
    const isAny = (holds) => explanation.references.some(holds);
    const head = ["head tone-0", "M31 7l-8 -4.5v9z"];
    const meant = [
      ["legendTo", true, ["arrow tone-0", "M1 7H24"], head],
      ["legendFallback", isAny((it) => it.by_fallback), ["arrow tone-0 fallback", "M1 7H24"], head],
      ["legendNowhere", isAny((it) => it.to === null), ["dead", "M1 7H18M20 3l8 8m0 -8l-8 8"]],
    ];
    for (const [key, , ...paths] of meant.filter(([, isThere]) => isThere)) {
      const drawn = paths.map(([name, d]) => draw("path", { class: name, d }));
      const sign = draw("svg", { width: 32, height: 14, "aria-hidden": "true" }, ...drawn);
      byId("legend").append(make("span", {}, sign, texts[key]));
    }
    const tiers = new Set(allArrays.flatMap(declared).map(({ tier }) => tier));
    const chips = ["principal", "service"].filter((tier) => tiers.has(tier));
    const losses = new Set(explanation.problems.map(isLoss));
    if (allArrays.some((it) => flags.missing(it) && !flags.problems(it))) losses.add(false);
    byId("legend").append(
      ...chips.map((tier) => chip({ name: texts[tier], tier })),
      losses.has(true) ? marked(true, texts.legendLoss) : "",
      losses.has(false) ? marked(false, texts.legendNoLoss) : "",
    );
  }

  function start() {
    explanation.groups.forEach(addGroup);
    explanation.references.forEach(addReference);
    explanation.problems.forEach(addProblem);
    // Parents come before children.
    const groups = [...allGroups, elsewhere, ...elsewhere.groups].reverse();
    for (const item of [...allArrays, ...groups]) sumUp(item);
    byId("otherwise").remove();
    byId("whole").hidden = false;
    makeSummary();
    makeFlags();
    makeConventions();
    makeLegend();
    byId("tree").addEventListener("focusin", onFocus);
    byId("tree").addEventListener("keydown", onKey);
    byId("tree").addEventListener("click", onClick);
    byId("search").addEventListener("input", applyFilters);
    byId("convention").addEventListener("change", applyFilters);
    byId("filters").addEventListener("submit", (event) => {
      event.preventDefault();
      focusActive();
    });
    document.addEventListener("keydown", onEscape);
    const isFramed = window.parent !== window;
    document.body.classList.toggle("framed", isFramed);
    // Where there is room for details beside the tree. Frames begin with whatever width.
    if (!isFramed && window.matchMedia("(min-width: 1000px)").matches) selected = root;
    applyFilters();
    showDetails();
    let { clientWidth: width } = byId("hierarchy");
    new ResizeObserver(() => {
      if (byId("hierarchy").clientWidth === width) return;
      width = byId("hierarchy").clientWidth;
      drawPicture();
    }).observe(byId("hierarchy"));
    // A notebook is told how high the page is.
    const tell = () => parent.postMessage({ zarrXgroupHeight: document.body.offsetHeight }, "*");
    if (isFramed) new ResizeObserver(tell).observe(document.body);
  }

  start();
})();

"use strict";

// The page of one explanation. Everything that comes from the store becomes text, never markup:
// elements are made here, and only `textContent` is given what was read.

(() => {
  const { explanation, texts, counts } = JSON.parse(byId("data").textContent);

  const language = document.documentElement.lang;

  /** How many rows are unfolded without being asked for. */
  const ROWS_AT_FIRST = 40;
  /** How many members of a group, or lines of details, are shown at once. */
  const BATCH = 50;
  /** The kind of problem that is a hint: whole stores declare no principal convention. */
  const UNDECLARED = "no principal convention";
  /** How many arrays a problem names. */
  const NAMED = 5;
  /** From how many on groups that are alike are folded into one row. */
  const ALIKE = 4;
  /** How many letters of a name a row shows. */
  const LONGEST = 120;
  /** How many targets are told in the text for the picture. */
  const TOLD = 20;

  /** What is not to be seen, or turns text around: control characters, formatting, no letters. */
  const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

  // Texts and elements.

  function byId(id) {
    return document.getElementById(id);
  }

  /** Return a text of the page with the values of its fields. */
  function say(key, values = {}) {
    return texts[key].replace(/\{(\w+)\}/g, (_, name) => visible(values[name]));
  }

  /** Return a counting text in the form that its number asks for. */
  function count(key, number) {
    const { forms, which } = counts[key];
    const form = which[number < which.length ? number : 100 + (number % 100)];
    return forms[form].replace("{count}", number.toLocaleString(language));
  }

  /** Return a text with all that is not to be seen as escapes, as Python writes them. */
  function visible(text) {
    return String(text).replace(UNPRINTABLE, (letter) => {
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
    element.append(...contents.filter((content) => content !== null));
    return element;
  }

  function lastSegment(path) {
    return path.slice(path.lastIndexOf("/") + 1);
  }

  function parentPath(path) {
    return path.slice(0, path.lastIndexOf("/")) || "/";
  }

  function addTo(lists, key, item) {
    if (!lists.has(key)) lists.set(key, []);
    lists.get(key).push(item);
  }

  // What there is: nodes of the store, and those that the page adds to fold others.

  /** A row of the tree. Kinds: group, array, arrays, alike, elsewhere, store, outside, more. */
  function node(kind, path, name, found = null) {
    return {
      kind,
      path,
      name,
      found,
      parent: null, // the group around it
      holder: null, // the row that it is folded into
      groups: [],
      arrays: [],
      members: [], // the rows below it, as they are now
      problems: [],
      hints: [], // told of it alone, and of the root
      outgoing: [],
      incoming: [],
    };
  }

  const root = node("group", explanation.group, explanation.group);
  const nodes = new Map([[root.path, root]]);
  const elsewhere = node("elsewhere", "", texts.elsewhere);
  const allArrays = [];
  const allGroups = [root];

  function nearest(path) {
    let known = path;
    while (!nodes.has(known) && known !== "/" && known !== "") known = parentPath(known);
    return nodes.get(known) ?? root;
  }

  function addGroup(found) {
    if (found.path === root.path) {
      root.found = found;
    } else {
      const added = node("group", found.path, lastSegment(found.path), found);
      added.parent = nearest(parentPath(found.path));
      added.parent.groups.push(added);
      nodes.set(added.path, added);
      allGroups.push(added);
    }
    for (const array of found.arrays) addArray(array, nodes.get(found.path));
  }

  function addArray(found, group) {
    const added = node("array", found.path, lastSegment(found.path), found);
    added.parent = group;
    group.arrays.push(added);
    nodes.set(added.path, added);
    allArrays.push(added);
  }

  /** Return the node of a place, or that of what is not below the group that is explained. */
  function nodeAt(place) {
    if (place.store !== null) return nodeElsewhere("store", place.store);
    const isBelow = root.path === "/" || `${place.node}/`.startsWith(`${root.path}/`);
    return isBelow ? nearest(place.node) : nodeElsewhere("outside", place.node);
  }

  const nodesElsewhere = new Map();

  function nodeElsewhere(kind, path) {
    const key = `${kind} ${path}`;
    if (!nodesElsewhere.has(key)) {
      const added = node(kind, path, path);
      added.parent = elsewhere;
      elsewhere.groups.push(added);
      nodesElsewhere.set(key, added);
    }
    return nodesElsewhere.get(key);
  }

  function addReference(reference) {
    const from = nodeAt(reference.source);
    const to = reference.leads_to === null ? null : nodeAt(reference.leads_to);
    reference.from = from;
    reference.to = to;
    const users = new Set([from, ...known(reference.arrays)]);
    for (const user of users) user.outgoing.push(reference);
    if (to !== null) to.incoming.push(reference);
  }

  function addProblem(problem) {
    const about = new Set(known(problem.arrays));
    if (problem.kind === UNDECLARED) {
      for (const array of about) array.hints.push(problem);
      about.clear();
    }
    if (about.size === 0) about.add(placeOf(problem));
    for (const one of about) one.problems.push(problem);
  }

  /** Return the node that a problem is told of if it is of no array. */
  function placeOf({ kind, place }) {
    return place === null || kind === UNDECLARED ? root : nodeAt(place);
  }

  function known(paths) {
    return paths.filter((path) => nodes.has(path)).map((path) => nodes.get(path));
  }

  /** Say of each group what it and all below it amount to, and which groups are alike. */
  function sumUp() {
    const shapes = new Map();
    for (const array of allArrays) {
      array.total = total(array, []);
      array.shape = likeness(array);
    }
    // Parents come before children.
    for (const group of [...allGroups, ...elsewhere.groups].reverse()) {
      group.total = total(group, [...group.groups, ...group.arrays]);
      const shape = JSON.stringify([
        group.problems.length,
        brokenOf(group).length,
        group.arrays.map((array) => [array.name, array.shape]),
        group.groups.map((below) => [below.name, below.shape]),
      ]);
      if (!shapes.has(shape)) shapes.set(shape, shapes.size);
      group.shape = shapes.get(shape);
    }
    elsewhere.total = total(elsewhere, elsewhere.groups);
  }

  /** Return how many arrays, and which problems, there are in a node and those below it. */
  function total(item, parts) {
    const sum = { arrays: item.kind === "array" ? 1 : 0, problems: new Set(item.problems) };
    for (const part of parts) {
      sum.arrays += part.total.arrays;
      for (const problem of part.total.problems) sum.problems.add(problem);
    }
    return sum;
  }

  function brokenOf(item) {
    return item.outgoing.filter((reference) => reference.to === null);
  }

  /** Return what makes two arrays alike: all but sizes, places and numbers. */
  function likeness(array) {
    const { dims, dtype, conventions, coordinates, missing, crs } = array.found;
    return [
      dims,
      dtype,
      conventions.map((convention) => convention.name),
      coordinates,
      missing,
      crs === null,
      array.problems.length,
      brokenOf(array).length,
    ];
  }

  // What is asked for.

  /** Whether there is room for details beside the tree. */
  const isWide = window.matchMedia("(min-width: 1000px)");

  const flags = {
    problems: (item) => item.problems.length > 0,
    broken: (item) => brokenOf(item).length > 0,
    missing: (item) => item.kind === "array" && item.found.missing.length > 0,
  };
  const asked = { words: [], flags: new Set(), convention: "" };
  /** What is unfolded, by path, and how many members of it are shown if more than a batch. */
  const opened = new Set();
  const limits = new Map();
  let openedBefore = null; // while filters are on: what was unfolded without them
  let matching = null; // the nodes that are shown, or null for all
  let rows = [];
  let arrows = [];
  let selected = null;
  let active = root;

  function searchedText(item) {
    if (item.searched === undefined) {
      const { dims = [], dtype = "", conventions = [], coordinates = [], crs } = item.found ?? {};
      const names = item.kind === "array" ? [...dims, dtype, ...coordinates] : [];
      if (crs) names.push(crs.name, crs.code ?? "");
      names.push(...conventions.map((convention) => convention.name));
      item.searched = [item.path, ...names].join("\n").toLowerCase();
    }
    return item.searched;
  }

  function isAskedFor(item) {
    const names = declared(item).map((convention) => convention.name);
    return (
      asked.words.every((word) => searchedText(item).includes(word)) &&
      [...asked.flags].every((flag) => flags[flag](item)) &&
      (asked.convention === "" || names.includes(asked.convention))
    );
  }

  function applyFilters() {
    asked.words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    asked.convention = byId("convention").value;
    const isAsked = asked.words.length + asked.flags.size > 0 || asked.convention !== "";
    const all = [...allGroups, ...allArrays, ...elsewhere.groups];
    const hits = isAsked ? all.filter(isAskedFor) : [];
    if (matching === null) openedBefore = new Set(opened);
    matching = isAsked ? withParents([...hits, ...targetsOf(hits)]) : null;
    fold();
    restoreFolds();
    show();
    const number = hits.filter((item) => item.kind === "array").length.toLocaleString(language);
    const found = say("found", { number, all: count("arrays", allArrays.length) });
    byId("found").textContent = isAsked ? found : "";
  }

  /** Unfold what is found; without filters, what was unfolded before them. */
  function restoreFolds() {
    limits.clear();
    opened.clear();
    if (matching !== null || openedBefore.size === 0) unfold();
    else for (const path of openedBefore) opened.add(path);
  }

  /** Return the groups that nodes refer to: without them arrows would lead nowhere. */
  function targetsOf(items) {
    const targets = items.flatMap((item) => item.outgoing.map((reference) => reference.to));
    return targets.filter((item) => item !== null).map(groupOf);
  }

  function groupOf(item) {
    return item.kind === "array" ? item.parent : item;
  }

  function withParents(items) {
    const all = new Set();
    for (let item of items) {
      for (; item !== null && !all.has(item); item = item.parent) all.add(item);
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
      const isLong = arrays.length > 5 && groups.length > 0;
      const first = isLong ? [folded("arrays", group, arrays[0], arrays)] : arrays;
      setMembers(group, [...first, ...groups]);
    }
    setMembers(elsewhere, elsewhere.groups.filter(isShown));
  }

  function isPseudo(item) {
    return item.kind === "alike" || item.kind === "arrays";
  }

  function folded(kind, parent, first, members) {
    const row = node(kind, `${kind} ${first.path}`, "");
    row.parent = parent;
    setMembers(row, members);
    row.total = total(row, members);
    return row;
  }

  function foldedGroups(parent, groups) {
    const byShape = new Map();
    for (const group of groups) addTo(byShape, group.shape, group);
    const found = [];
    for (const group of groups) {
      const same = byShape.get(group.shape);
      if (same.length < ALIKE) found.push(group);
      else if (same[0] === group) found.push(folded("alike", parent, group, same));
    }
    return found;
  }

  function setMembers(holder, members) {
    holder.members = members;
    for (const member of members) member.holder = holder;
  }

  /** Unfold from the top down as long as there is room; groups of arrays only all or none. */
  function unfold() {
    let room = ROWS_AT_FIRST;
    const last = [];
    const pending = topRows();
    while (pending.length > 0) {
      const item = pending.shift();
      const { members } = item;
      if (isPseudo(item) && matching === null) continue;
      if (item !== root && members.every((member) => member.kind === "array")) {
        last.push(item);
      } else if (item === root || members.length <= room) {
        room -= members.length;
        opened.add(item.path);
        pending.push(...members);
      }
    }
    const needed = last.reduce((sum, item) => sum + item.members.length, 0);
    if (needed <= room) for (const item of last) opened.add(item.path);
  }

  function topRows() {
    return elsewhere.members.length > 0 ? [root, elsewhere] : [root];
  }

  /** Return the rows that are to be seen, from top to bottom. */
  function visibleRows() {
    const found = [];
    const pending = topRows()
      .map((item, index, all) => ({ item, level: 1, index, of: all.length }))
      .reverse();
    while (pending.length > 0) {
      const row = pending.pop();
      found.push(row);
      if (!isOpen(row.item)) continue;
      const all = row.item.members;
      const limit = limits.get(row.item.path) ?? BATCH;
      const shown = all.slice(0, limit);
      if (all.length > limit) shown.push(moreOf(row.item, all.length - limit));
      for (let index = shown.length - 1; index >= 0; index -= 1) {
        const level = row.level + 1;
        pending.push({ item: shown[index], level, index, of: shown.length });
      }
    }
    return found;
  }

  function moreOf(holder, number) {
    const row = node("more", `more ${holder.path}`, count("more", number));
    row.holder = holder;
    row.parent = holder;
    row.total = total(row, []);
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
    if (!rows.some((row) => isSame(row.item, active))) active = nearestRow(active).item;
    arrows = arrowsBetween();
    byId("tree").replaceChildren(...rows.map(rowElement));
    drawPicture();
  }

  function isSame(one, other) {
    return one === other || (one.kind === other.kind && one.path === other.path);
  }

  /** Return the row of a node, or of what it is folded into. */
  function nearestRow(item) {
    let shown = item;
    while (shown !== null && rows[shown.row?.number]?.item !== shown) {
      shown = shown.holder ?? shown.parent;
    }
    return (shown ?? root).row;
  }

  function rowElement(row) {
    const { item } = row;
    const foldable = item.members.length > 0;
    const element = make(
      "div",
      {
        id: `row-${row.number}`,
        class: `row ${item.kind}`,
        role: "treeitem",
        tabindex: isSame(item, active) ? "0" : "-1",
        "aria-level": row.level,
        "aria-posinset": row.index + 1,
        "aria-setsize": row.of,
        "aria-expanded": foldable ? String(isOpen(item)) : null,
        "aria-selected": item.kind === "more" ? null : String(item === selected),
      },
      make(
        "div",
        { class: "card" },
        make("span", { class: foldable ? "twisty" : "twisty none", "aria-hidden": "true" }),
        make("span", { class: "name" }, make("bdi", {}, rowName(item))),
        ...remarks(item),
        ...badges(item),
        make("span", { class: "unseen" }, toldArrows(row)),
      ),
    );
    element.style.setProperty("--level", Math.min(row.level - 1, 12));
    row.element = element;
    return element;
  }

  function rowName(item) {
    if (item.kind === "alike") {
      const names = item.members.map((member) => shortened(member.name));
      return say("range", { first: names[0], last: names[names.length - 1] });
    }
    return item.kind === "arrays" ? count("arrays", item.members.length) : shortened(item.name);
  }

  /** Return what a row says beside its name. */
  function remarks(item) {
    const { kind, found, members, total: all } = item;
    const arrays = all.arrays > 0 ? [count("arrays", all.arrays)] : [];
    const said = {
      array: () => [sizes(found), found.dtype, ...(found.is_coordinate ? [texts.coordinate] : [])],
      group: () => arrays,
      alike: () => [count("alike", members.length), ...arrays],
      elsewhere: () => [count("places", members.length)],
    }[kind]?.() ?? [];
    const shown = said.map((text) => make("span", { class: "remark" }, shortened(text)));
    return [...shown, ...conventionsOf(item).slice(0, 3).map(chip)];
  }

  function chip({ name, tier }) {
    return make("span", { class: `chip ${tier}` }, make("bdi", {}, shortened(name)));
  }

  /** Return the conventions that an array, or the arrays of a group, follow, and how many do. */
  function conventionsOf(item) {
    const { kind, members } = item;
    if (kind === "alike") return conventionsOf(members[0]);
    const found = new Map();
    for (const { name, tier } of [item, ...item.arrays].flatMap(declared)) {
      found.set(name, { name, tier, arrays: (found.get(name)?.arrays ?? 0) + 1 });
    }
    return [...found.values()];
  }

  function declared(item) {
    return item.found?.conventions ?? [];
  }

  function sizes(array) {
    const pairs = array.dims.map((name, index) => `${name} ${array.shape[index] ?? "?"}`);
    return pairs.length > 0 ? pairs.join(" \u00d7 ") : texts.scalar;
  }

  function badges(item) {
    const problems = item.total.problems.size;
    const kind = [...item.total.problems].some(isLoss) ? "badge problem" : "badge";
    const bare = item.kind === "array" ? shortened(item.found.missing.join(", ")) : "";
    return [
      problems > 0 ? make("span", { class: kind }, count("problems", problems)) : null,
      bare !== "" && problems === 0
        ? make("span", { class: "badge lacking" }, say("without", { names: bare }))
        : null,
    ];
  }

  /** Return whether a problem is one that costs something, and no choice or hint. */
  function isLoss(problem) {
    return problem.kind === "problem" || problem.kind === "metadata" || problem.lost !== "";
  }

  // References as arrows between groups.

  /** Return the row that an arrow begins or ends at: that of an array only if it is selected. */
  function endOf(item, isExact) {
    return nearestRow(isExact ? item : groupOf(item));
  }

  /** Gather all references into arrows between rows, and count them. */
  function arrowsBetween() {
    const found = new Map();
    for (const reference of explanation.references) {
      if (!isShown(reference.from)) continue;
      if (reference.to !== null && !isShown(groupOf(reference.to))) continue;
      const isArray = selected?.kind === "array";
      const isExact = isArray && [reference.from, reference.to].includes(selected);
      const from = endOf(reference.from, isExact);
      const to = reference.to === null ? null : endOf(reference.to, isExact);
      const key = `${from.number} ${to === null ? "" : to.number}`;
      if (!found.has(key)) found.set(key, { from, to, references: 0, fallbacks: 0 });
      const arrow = found.get(key);
      arrow.references += 1;
      arrow.fallbacks += reference.by_fallback ? 1 : 0;
    }
    return standingOut([...found.values()]);
  }

  /** Make all arrows faint but those of the selected row, if it has any; at the root all count. */
  function standingOut(found) {
    const row = selected === null || selected === root ? null : nearestRow(selected);
    const isOwn = (arrow) => arrow.from === row || arrow.to === row;
    const isAny = row !== null && found.some(isOwn);
    for (const arrow of found) arrow.weight = isAny && !isOwn(arrow) ? "faint" : "";
    return found;
  }

  /** Return in words which arrows begin and end at a row. */
  function toldArrows(row) {
    const told = [];
    for (const arrow of arrows) {
      const number = count("references", arrow.references);
      const isInside = arrow.from === row && arrow.to === row;
      if (isInside) told.push(say("inside", { references: number }));
      else if (arrow.from === row && arrow.to === null) {
        told.push(say("nowhere", { references: number }));
      } else if (arrow.from === row) {
        told.push(say("to", { references: number, name: fullName(arrow.to.item) }));
      } else if (arrow.to === row) {
        told.push(say("from", { references: number, name: fullName(arrow.from.item) }));
      }
    }
    if (told.length > TOLD) told.splice(TOLD, told.length, count("more", told.length - TOLD));
    return told.map((text) => `; ${text}`).join("");
  }

  function fullName(item) {
    return isPseudo(item) || item === elsewhere ? rowName(item) : shortened(item.path);
  }

  /** Give all arrows to one target a lane, so that lanes of targets do not lie on one another. */
  function lanesOf() {
    const targets = new Map();
    for (const arrow of arrows) {
      if (arrow.to !== null && arrow.to !== arrow.from) addTo(targets, arrow.to, arrow);
    }
    const lanes = [...targets].map(([to, ending]) => {
      const numbers = [to.number, ...ending.map((arrow) => arrow.from.number)];
      return { to, ending, top: Math.min(...numbers), bottom: Math.max(...numbers) };
    });
    const height = (lane) => lane.bottom - lane.top;
    lanes.sort((one, other) => height(one) - height(other) || one.top - other.top);
    const taken = [];
    for (const lane of lanes) {
      const isFree = (spans) =>
        spans.every((span) => lane.bottom < span.top || span.bottom < lane.top);
      let place = taken.findIndex(isFree);
      if (place < 0) place = taken.push([]) - 1;
      taken[place].push(lane);
      lane.place = place;
    }
    lanes.width = taken.length;
    return lanes;
  }

  /** How far ports of a row are from one another. */
  const PORT = 13;

  /** Say at which height each arrow leaves or meets its row, so that none crosses without need. */
  function setPorts(lanes) {
    const ports = new Map();
    const addPort = (row, port) => addTo(ports, row, port);
    for (const lane of lanes) {
      const up = lane.ending.some((arrow) => arrow.from.number < lane.to.number);
      addPort(lane.to, { lane, order: up ? lane.place : 2000 - lane.place });
      for (const arrow of lane.ending) {
        const order = arrow.from.number > lane.to.number ? lane.place : 2000 - lane.place;
        addPort(arrow.from, { lane, arrow, order });
      }
    }
    for (const arrow of arrows) {
      if (arrow.to === null) addPort(arrow.from, { arrow, order: 1000 });
    }
    for (const [row, all] of ports) {
      all.sort((one, other) => one.order - other.order);
      row.element.classList.add("joined");
      row.element.style.minHeight = `${all.length * PORT + 10}px`;
    }
    return ports;
  }

  /** Say how far each lane is from the rows, numbers being before the first; return the width. */
  function spread(lanes, width) {
    const longest = Math.max(...arrows.map((arrow) => shownNumber(arrow).length));
    const cross = arrows.some((arrow) => arrow.to === null) ? 12 : 0;
    const first = 20 + 7 * longest + cross;
    lanes.first = first;
    const between = Math.min(16, (width * 0.4 - first) / Math.max(lanes.width, 1));
    for (const lane of lanes) lane.distance = first + lane.place * between;
    return first + lanes.width * between + 4;
  }

  function shownNumber(arrow) {
    return arrow.references.toLocaleString(language);
  }

  function drawPicture() {
    const holder = byId("hierarchy");
    const lanes = lanesOf();
    for (const before of holder.querySelectorAll("svg")) before.remove();
    const hasArrows = arrows.some((arrow) => arrow.to !== arrow.from);
    const gutter = hasArrows ? spread(lanes, holder.clientWidth) : 0;
    holder.style.setProperty("--gutter", `${gutter}px`);
    const ports = setPorts(lanes);
    for (const row of rows) {
      row.top = row.element.offsetTop;
      row.height = row.element.offsetHeight;
      row.left = row.element.firstChild.offsetLeft;
    }
    for (const [row, all] of ports) {
      all.forEach((port, index) => {
        port.y = row.top + row.height / 2 + (index - (all.length - 1) / 2) * PORT;
      });
    }
    const height = byId("tree").offsetHeight;
    // Each holds on to its side, so that both stay right when the page becomes a printed one.
    const left = { class: "branches", width: "100%", height, "aria-hidden": "true" };
    const right = { class: "arrows", width: gutter, height, role: "img" };
    right["aria-label"] = pictureText();
    holder.append(draw("svg", left, ...branches()));
    if (hasArrows) holder.append(draw("svg", right, ...drawnArrows(ports, lanes.first)));
    byId("legend").hidden = !hasArrows;
  }

  /** Draw which row is below which. */
  function branches() {
    const drawn = [];
    for (const row of rows) {
      const last = row.item.members.length > 0 && rows.findLast((below) => holds(row, below));
      if (!last || !isOpen(row.item)) continue;
      const x = last.left - 6.5;
      const middles = rows.filter((below) => holds(row, below)).map(middle);
      const stems = middles.map((y) => `M${x} ${y - 6}q0 6 6 6h1`);
      const down = `M${x} ${row.top + row.height - 3}V${middles[middles.length - 1] - 6}`;
      drawn.push(draw("path", { class: "branch", d: down + stems.join("") }));
    }
    return drawn;
  }

  function holds(row, below) {
    return below.item.holder === row.item && below.level === row.level + 1;
  }

  function middle(row) {
    return Math.round(row.top + row.height / 2) + 0.5;
  }

  function drawnArrows(ports, first) {
    const lines = [];
    const marks = [];
    for (const port of [...ports.values()].flat()) {
      const { arrow, lane } = port;
      if (arrow === undefined) {
        marks.push(arrowHead(port));
      } else if (lane === undefined) {
        lines.push(deadEnd(port, first - 16));
      } else {
        const end = ports.get(lane.to).find((other) => isEndOf(other, lane));
        lines.push(arrowLine(port, end));
      }
      if (arrow?.references > 1) marks.push(numberAt(port));
    }
    return [...lines, ...marks];
  }

  function isEndOf(port, lane) {
    return port.lane === lane && port.arrow === undefined;
  }

  function arrowLine(port, end) {
    const { weight, fallbacks } = port.arrow;
    const x = port.lane.distance;
    const turn = end.y < port.y ? -1 : 1;
    const radius = Math.min(8, Math.abs(end.y - port.y) / 2);
    return draw("path", {
      class: `arrow ${tone(port.lane)} ${weight}${fallbacks > 0 ? " fallback" : ""}`,
      d:
        `M0 ${port.y}H${x - radius}q${radius} 0 ${radius} ${turn * radius}` +
        `V${end.y - turn * radius}q0 ${turn * radius} ${-radius} ${turn * radius}H7`,
    });
  }

  function arrowHead(port) {
    const isFaint = port.lane.ending.every((arrow) => arrow.weight === "faint");
    return draw("path", {
      class: `head ${tone(port.lane)}${isFaint ? " faint" : ""}`,
      d: `M1 ${port.y}l8 -4.5v9z`,
    });
  }

  function deadEnd(port, x) {
    const { weight } = port.arrow;
    const cross = `M${x} ${port.y - 4}l8 8m0 -8l-8 8`;
    return draw("path", { class: `dead ${weight}`, d: `M0 ${port.y}H${x - 2}${cross}` });
  }

  function numberAt(port) {
    const place = { class: `number ${port.arrow.weight}`, x: 9, y: port.y + 3.5 };
    return draw("text", place, shownNumber(port.arrow));
  }

  /** Return one of six colours, so that lanes beside one another differ. */
  function tone(lane) {
    return `tone-${lane.place % 6}`;
  }

  function pictureText() {
    const told = arrows
      .filter((arrow) => arrow.to !== arrow.from)
      .map((arrow) => {
        const values = {
          references: count("references", arrow.references),
          from: fullName(arrow.from.item),
          name: arrow.to === null ? "" : fullName(arrow.to.item),
        };
        return say(arrow.to === null ? "arrowNowhere" : "arrow", values);
      });
    if (told.length > TOLD) told.splice(TOLD, told.length, count("more", told.length - TOLD));
    return [texts.picture, ...told].join(" ");
  }

  // Details of what is selected.

  function showDetails() {
    const details = byId("details");
    details.replaceChildren();
    if (selected !== null) filled(details, {}, detailsOf(selected));
    details.hidden = selected === null;
    document.body.classList.toggle("selected", selected !== null);
  }

  function detailsOf(item) {
    const close = make("button", { type: "button", class: "close" }, "\u00d7");
    close.setAttribute("aria-label", texts.close);
    close.addEventListener("click", () => select(null));
    const title = make("h2", { id: "details-title" }, text(item.path));
    const kind = make("p", { class: "kind" }, texts[item.kind]);
    const about = { array: aboutArray, group: aboutGroup }[item.kind];
    return [close, kind, title, ...(about?.(item) ?? []), ...aboutReferences(item)];
  }

  function aboutArray(array) {
    const { found, parent } = array;
    const given = parent.found.coordinates.filter(
      ({ name, arrays }) => found.coordinates.includes(name) || arrays.includes(found.path),
    );
    return [
      section("problems", [...array.problems, ...array.hints], aboutProblem),
      facts([
        [texts.dimensions, text(sizes(found))],
        [texts.type, text(found.dtype)],
        [texts.crs, found.crs === null ? null : aboutCrs(found.crs)],
        [texts.missing, found.missing.length === 0 ? null : text(found.missing.join(", "))],
        [texts.group, link(parent)],
      ]),
      section("conventions", found.conventions, aboutConvention),
      section("coordinates", given, (coordinate) => aboutCoordinate(coordinate)),
    ];
  }

  function aboutGroup(group) {
    const { found, total: all } = group;
    return [
      section("problems", [...all.problems], aboutProblem),
      facts([[texts.arraysBelow, text(all.arrays.toLocaleString(language))]]),
      section("conventions", conventionsOf(group), (convention) => [
        chip(convention),
        " ",
        count("arrays", convention.arrays),
      ]),
      section("coordinates", found?.coordinates ?? [], aboutCoordinate),
      section("arrays", group.arrays, (array) => [link(array), " ", text(sizes(array.found))]),
      section("groups", group.groups, (below) => [link(below)]),
    ];
  }

  /** Tell the references of a node; a group has those of its arrays, too. */
  function aboutReferences(item) {
    const parts = [item, ...item.arrays];
    const outgoing = new Set(parts.flatMap((part) => part.outgoing));
    const incoming = new Set(parts.flatMap((part) => part.incoming));
    return [
      section("references", [...outgoing], aboutReference),
      section("referredBy", [...incoming], ({ source, from }) => [placed(source, from)]),
    ];
  }

  function aboutProblem(problem) {
    const { kind, text: told, place, lost, arrays } = problem;
    const isSaid = place === null || (place.pointer === "" && arrays.includes(place.node));
    const others = known(arrays).filter((array) => array !== selected);
    const named = others.slice(0, NAMED).flatMap((array) => [" ", link(array)]);
    const left = others.length > NAMED ? ` ${count("more", others.length - NAMED)}` : "";
    return [
      make("span", { class: isLoss(problem) ? "badge problem" : "badge" }, visible(kind)),
      " ",
      text(isSaid ? told : withoutPlace(told, place)),
      lost === "" ? null : line(say("lost", { lost })),
      others.length === 0 ? null : line(texts.concerns, ...named, left),
      isSaid ? null : line(texts.at, " ", placed(place, nodeAt(place))),
    ];
  }

  /** Return what is told of a place without that place, which is shown after it. */
  function withoutPlace(told, { node: path, pointer }) {
    const begin = `${path}#${pointer}`;
    return told.startsWith(begin) ? told.slice(begin.length).replace(/^[:\s]+/, "") : told;
  }

  function aboutConvention(convention) {
    const { tier, declared_in: declaredIn } = convention;
    const where = nodes.get(declaredIn);
    const node = where === undefined ? text(declaredIn ?? "") : link(where);
    return [
      chip(convention),
      " ",
      texts[tier] ?? visible(tier),
      line(...(declaredIn === null ? [texts.undeclared] : [texts.declaredIn, " ", node])),
    ];
  }

  function aboutCrs({ name, code, variable }) {
    const also = [code, variable].filter((one) => one !== null).join(" \u00b7 ");
    return make("span", {}, text(name), also === "" ? null : line(also));
  }

  function aboutCoordinate({ name, dims, kind, origin, text: told, is_index: isIndex, bounds }) {
    return [
      make("b", {}, text(name)),
      " ",
      text(`(${dims.join(", ")})`),
      " ",
      make("span", { class: "chip kind" }, texts[kind] ?? visible(kind)),
      isIndex ? " " : null,
      isIndex ? make("span", { class: "remark" }, texts.index) : null,
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
        ? line(make("span", { class: "badge problem" }, texts.leadsNowhere))
        : line(texts.leadsTo, " ", placed(reference.leads_to, to)),
      reference.by_fallback ? line(make("span", { class: "badge" }, texts.byFallback)) : null,
      told === "" ? null : line(text(told)),
    ];
  }

  /** Make a place: a button that leads to its node, and the pointer into its document. */
  function placed(place, item) {
    const isHere = place.store === null && item.path === place.node;
    const where = place.store === null ? place.node : `${place.store}|${place.node}`;
    const shown = make("span", { class: "place" }, isHere ? link(item) : text(where));
    if (place.pointer !== "") shown.append(make("code", {}, text(`#${place.pointer}`)));
    return shown;
  }

  function text(shown) {
    return make("bdi", {}, visible(shown));
  }

  function line(...contents) {
    return make("div", { class: "line" }, ...contents);
  }

  function link(item) {
    const button = make("button", { type: "button", class: "link" }, text(item.path));
    button.addEventListener("click", () => reveal(item));
    return button;
  }

  function facts(pairs) {
    const shown = pairs.filter(([, value]) => value !== null);
    const terms = shown.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
    return make("dl", {}, ...terms);
  }

  /** Make a list under a heading that counts it, in batches; nothing of an empty one. */
  function section(key, items, about) {
    if (items.length === 0) return null;
    const list = make("ul", {});
    const number = make("span", {}, items.length.toLocaleString(language));
    const heading = make("h3", {}, `${texts[`${key}Title`]} `, number);
    const shown = make("section", { class: key }, heading, list);
    const addBatch = (from) => {
      const next = items.slice(from, from + BATCH);
      list.append(...next.map((item) => filled(make("li"), {}, about(item))));
      const left = items.length - from - next.length;
      if (left > 0) shown.append(moreButton(left, () => addBatch(from + next.length)));
    };
    addBatch(0);
    return shown;
  }

  function moreButton(left, run) {
    const button = make("button", { type: "button", class: "more" }, count("more", left));
    button.addEventListener("click", () => {
      button.remove();
      run();
    });
    return button;
  }

  // What users do.

  function select(item) {
    selected = item;
    if (item !== null) active = item;
    show();
    showDetails();
    focusActive();
  }

  /** Unfold all around a node, or show all again if it is filtered out, and select it. */
  function reveal(item) {
    if (!isShown(item)) resetFilters();
    for (let holder = item.holder ?? item.parent; holder !== null; holder = holder.holder) {
      opened.add(holder.path);
    }
    for (let inner = item; inner.holder !== null; inner = inner.holder) {
      const needed = inner.holder.members.indexOf(inner) + 1;
      limits.set(inner.holder.path, Math.max(needed, limits.get(inner.holder.path) ?? BATCH));
    }
    select(item);
  }

  /** Do what a row is for: show its details, fold or unfold it, show more. */
  function activate(item) {
    if (item.kind === "more") {
      const shown = limits.get(item.holder.path) ?? BATCH;
      active = item.holder.members[shown];
      limits.set(item.holder.path, shown + BATCH);
      show();
      focusActive();
    } else if (isPseudo(item) || item === elsewhere || item === selected) {
      toggle(item);
    } else {
      if (item.members.length > 0) opened.add(item.path);
      select(item);
    }
  }

  function toggle(item) {
    if (item.members.length === 0) return;
    if (opened.has(item.path)) opened.delete(item.path);
    else opened.add(item.path);
    active = item;
    show();
    focusActive();
  }

  function focusActive() {
    const { element } = nearestRow(active);
    element.focus({ preventScroll: true });
    element.scrollIntoView({ block: "nearest" });
  }

  function moveTo(number) {
    const row = rows[Math.max(0, Math.min(number, rows.length - 1))];
    nearestRow(active).element.tabIndex = -1;
    active = row.item;
    row.element.tabIndex = 0;
    focusActive();
  }

  function onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const row = nearestRow(active);
    const { item, number } = row;
    const keys = {
      ArrowDown: () => moveTo(number + 1),
      ArrowUp: () => moveTo(number - 1),
      Home: () => moveTo(0),
      End: () => moveTo(rows.length - 1),
      ArrowRight: () => {
        if (isOpen(item)) moveTo(number + 1);
        else toggle(item);
      },
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
    const isNamed = (row) => rowName(row.item).toLowerCase().startsWith(letter.toLowerCase());
    const next = after.find(isNamed);
    if (next !== undefined) moveTo(next.number);
  }

  function onClick(event) {
    const element = event.target.closest("[role=treeitem]");
    if (element === null) return;
    const { item } = rows[Number(element.id.slice("row-".length))];
    if (event.target.closest(".twisty:not(.none)") !== null) toggle(item);
    else activate(item);
  }

  function onEscape(event) {
    if (event.key !== "Escape") return;
    if (byId("search").value !== "") resetFilters();
    else if (selected !== null) select(null);
  }

  function resetFilters() {
    byId("search").value = "";
    byId("convention").value = "";
    asked.flags.clear();
    for (const button of byId("flags").children) button.setAttribute("aria-pressed", "false");
    applyFilters();
  }

  // The parts of the page that stay.

  function makeFlags() {
    for (const [key, holds] of Object.entries(flags)) {
      const number = [...allGroups, ...allArrays].filter(holds).length;
      if (number === 0) continue;
      const button = make("button", { type: "button", "aria-pressed": "false" });
      button.append(texts[`${key}Flag`], " ", make("span", {}, number.toLocaleString(language)));
      button.addEventListener("click", () => {
        const isOn = !asked.flags.delete(key);
        if (isOn) asked.flags.add(key);
        button.setAttribute("aria-pressed", String(isOn));
        applyFilters();
      });
      byId("flags").append(button);
    }
  }

  function makeConventions() {
    const names = new Set(
      allArrays.flatMap(declared).map((convention) => convention.name),
    );
    const option = (name) => make("option", { value: name }, shortened(name));
    const options = [...names].sort().map(option);
    byId("convention").append(make("option", { value: "" }, texts.anyConvention), ...options);
    byId("convention").hidden = names.size === 0;
  }

  function makeSummary() {
    const { references, problems } = explanation;
    const broken = references.filter((reference) => reference.leads_to === null).length;
    const parts = [
      say("format", { number: explanation.zarr_format }),
      explanation.is_consolidated ? texts.consolidated : texts.notConsolidated,
      count("groups", allGroups.length),
      count("arrays", allArrays.length),
      count("references", references.length),
      broken > 0 ? count("broken", broken) : null,
      count("problems", problems.length),
    ];
    byId("summary").append(
      ...parts.filter((part) => part !== null).map((part) => make("span", {}, part)),
    );
  }

  /** Say what the lines of the picture mean. */
  function makeLegend() {
    const isAny = (holds) => explanation.references.some(holds);
    const meant = {
      legendTo: true,
      legendFallback: isAny((reference) => reference.by_fallback),
      legendNowhere: isAny((reference) => reference.to === null),
    };
    const lines = {
      legendTo: [["arrow tone-0", "M1 7H24"], ["head tone-0", "M31 7l-8 -4.5v9z"]],
      legendFallback: [["arrow tone-0 fallback", "M1 7H24"], ["head tone-0", "M31 7l-8 -4.5v9z"]],
      legendNowhere: [["dead", "M1 7H18M20 3l8 8m0 -8l-8 8"]],
    };
    for (const [key, paths] of Object.entries(lines).filter(([key]) => meant[key])) {
      const drawn = paths.map(([name, d]) => draw("path", { class: name, d }));
      const sign = draw("svg", { width: 32, height: 14, "aria-hidden": "true" }, ...drawn);
      byId("legend").append(make("span", {}, sign, texts[key]));
    }
  }

  function start() {
    for (const group of explanation.groups) addGroup(group);
    for (const reference of explanation.references) addReference(reference);
    for (const problem of explanation.problems) addProblem(problem);
    sumUp();
    makeSummary();
    makeFlags();
    makeConventions();
    makeLegend();
    byId("tree").addEventListener("keydown", onKey);
    byId("tree").addEventListener("click", onClick);
    byId("search").addEventListener("input", applyFilters);
    byId("convention").addEventListener("change", applyFilters);
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
    document.addEventListener("keydown", onEscape);
    if (isWide.matches) selected = root;
    applyFilters();
    showDetails();
    let { clientWidth: width } = byId("hierarchy");
    new ResizeObserver(() => {
      if (byId("hierarchy").clientWidth === width) return;
      width = byId("hierarchy").clientWidth;
      drawPicture();
    }).observe(byId("hierarchy"));
  }

  start();
})();

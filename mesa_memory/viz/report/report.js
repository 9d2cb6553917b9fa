"use strict";
// Draws the report from the data below it. Texts of agents become text nodes, never markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const [KIND, LAYER, STEP, FROM, TO, BECAUSE, TEXT, GRADE, DERIVED, SOURCES] = Array(10).keys();
  const SVG = "http://www.w3.org/2000/svg", SIZE = 600, EDGE = 40, LISTED = 200, FIRST = 3, DEEPEST = 12, COLOURS = 8;
  const $ = (id) => document.getElementById(id);
  const people = new Map(data.people.map((one) => [one.agent, one]));
  const last = data.steps.length - 1;
  const now = { place: 0, agent: data.people.length ? data.people[0].agent : 0, measure: 0, picked: null, timer: null };

  // -- making elements ----------------------------------------------------------------

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "onclick") node.addEventListener("click", value);
      else if (value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }
  const html = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
  const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
  const show = (id, ...children) => $(id).replaceChildren(...children.filter((child) => child));

  function called(agent) {
    const [id, name] = data.agents[agent];
    return name && name !== id ? `${name} (${id})` : `Agent ${id}`;
  }
  const number = (value) => Number(value.toPrecision(6)).toString();
  const amount = (value) => (Number.isInteger(value) ? value : Number(value.toPrecision(6))).toLocaleString("en-US", { maximumFractionDigits: 20 });
  const whoButton = (agent) =>
    html("button", { type: "button", class: "who", onclick: () => choose(agent) }, called(agent));

  // -- the town: who is where, and who told whom what -------------------------------

  const [left, low, right, high] = data.box, span = Math.max(right - left, high - low) || 1;
  const scaled = (value) => SIZE / 2 + (value / span) * (SIZE - 2 * EDGE);
  const spotOf = (x, y) => [scaled(x - (left + right) / 2), scaled((low + high) / 2 - y)];
  function at(agent) {
    // Of a step that is left out, the places of the last one before it.
    let place = data.places.length > 1 ? now.place : 0;
    while (place && !data.places[place]) place -= 1;
    const [x, y] = (data.places[place] || []).slice(2 * agent, 2 * agent + 2);
    return x === null || x === undefined ? null : spotOf(x, y);
  }
  const radius = Math.max(4, Math.min(15, 700 / Math.max(data.agents.length, 1)));
  const circles = [], labels = [], arrows = svg("g", {});

  function drawTown() {
    const head = svg("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" },
      svg("path", { d: "M0 0L10 5L0 10z" }));
    const town = svg("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group", "aria-label": "Agents, and what they tell each other" },
      svg("defs", {}, head),
      ...data.ties.map((tie) => {
        const [[x1, y1], [x2, y2]] = [spotOf(tie[0], tie[1]), spotOf(tie[2], tie[3])];
        return svg("line", { class: "tie", x1, y1, x2, y2 });
      }), arrows);
    data.agents.forEach((agent, place) => {
      const circle = svg("circle", { r: radius, onclick: () => choose(place) }, svg("title", {}, called(place)));
      const label = svg("text", {}, data.agents.length <= 60 ? (agent[1] || agent[0]).slice(0, 4) : "");
      circles.push(circle);
      labels.push(label);
      town.append(circle, label);
    });
    show("town", town);
  }

  function placeAgents() {
    circles.forEach((circle, agent) => {
      const spot = at(agent);
      for (const node of [circle, labels[agent]]) node.setAttribute("visibility", spot ? "visible" : "hidden");
      if (!spot) return;
      circle.setAttribute("cx", spot[0]);
      circle.setAttribute("cy", spot[1]);
      labels[agent].setAttribute("x", spot[0]);
      labels[agent].setAttribute("y", spot[1]);
    });
  }

  function drawMessages() {
    const told = data.messages[now.place];
    const lines = [], paths = [];
    (told || []).forEach(([sender, text, recipients], order) => {
      const words = data.texts[text], picked = now.picked === order;
      for (const recipient of recipients.filter((one) => at(one) && at(sender))) {
        paths.push(svg("path", { d: bent(at(sender), at(recipient)), "marker-end": "url(#arrow)", class: picked ? "picked" : null, onclick: () => pick(order, sender) },
          svg("title", {}, `${called(sender)} to ${called(recipient)}: ${words}`)));
      }
      if (order < LISTED) lines.push(sayingLine(sender, recipients, words, picked));
    });
    arrows.replaceChildren(...paths);
    show("said", ...lines);
    if (told && told.length > LISTED) $("said").append(html("li", {}, `… and ${told.length - LISTED} more`));
    $("said-count").textContent = told ? `${told.length} messages` : "not in this sample: see the note at the top";
  }

  function sayingLine(sender, recipients, words, picked) {
    const to = recipients.slice(0, 3).map(called).join(", ") + (recipients.length > 3 ? ` and ${recipients.length - 3} more` : "");
    return html("li", { class: picked ? "picked" : null }, whoButton(sender), to ? ` to ${to}: ` : ": ", words);
  }

  function bent([x1, y1], [x2, y2]) {
    const length = Math.hypot(x2 - x1, y2 - y1) || 1, gap = radius + 2;
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const [ax, ay, bx, by] = [x1 + ux * gap, y1 + uy * gap, x2 - ux * gap, y2 - uy * gap];
    const [cx, cy] = [(ax + bx) / 2 - uy * length * 0.08, (ay + by) / 2 + ux * length * 0.08];
    return `M${ax.toFixed(1)} ${ay.toFixed(1)}Q${cx.toFixed(1)} ${cy.toFixed(1)} ${bx.toFixed(1)} ${by.toFixed(1)}`;
  }

  function colourAgents() {
    const measure = data.measures[now.measure], classes = measure ? measure.classes : [];
    const values = measure && measure.agents ? measure.agents[now.place] : [];
    circles.forEach((circle, place) => {
      const value = values[place] || 0, strength = classes.length ? 1 : 0.25 + 0.75 * Math.min(1, Math.abs(value) / (measure ? measure.most : 1));
      const own = !value ? "" : classes.length ? ` class${(value - 1) % COLOURS}` : " held";
      circle.setAttribute("class", `agent${own}${place === now.agent ? " chosen" : ""}`);
      circle.setAttribute("fill-opacity", value ? strength.toFixed(2) : "1");
      circle.firstChild.textContent = called(place) + (value && measure ? `: ${classes.length ? classes[value - 1] : amount(value)}` : "");
    });
  }

  function drawLegend() {
    const measure = data.measures[now.measure];
    const words = measure && measure.classes.length ? measure.classes : [];
    show("legend", ...words.map((word, order) => html("span", {}, swatch(order), ` ${word}`)));
  }
  const swatch = (order) => svg("svg", { class: "swatch", viewBox: "0 0 12 12" }, svg("rect", { class: `class${order % COLOURS}`, width: 12, height: 12 }));

  // -- curves -----------------------------------------------------------------------

  const WIDE = 340, HIGH = 120, LEFT = 54, BOTTOM = 18, cursors = [];
  const across = (place) => LEFT + (last ? (place / last) * (WIDE - LEFT - 6) : 0);

  function drawCurves() {
    show("charts", ...data.measures.map((measure) => {
      const all = measure.lines.flatMap(([, values]) => values).filter((value) => value !== null);
      const most = Math.max(0, ...all) || 1, least = Math.min(0, ...all);
      const down = (value) => 8 + ((most - value) / (most - least)) * (HIGH - BOTTOM - 8);
      const cursor = svg("line", { y1: 4, y2: HIGH - BOTTOM });
      cursors.push(cursor);
      const chart = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${measure.name} by step; from ${amount(least)} to ${amount(most)}` },
        svg("line", { class: "axis", x1: LEFT, x2: WIDE - 6, y1: HIGH - BOTTOM, y2: HIGH - BOTTOM }),
        ...measure.lines.map(([, values], order) => curve(values, down, measure.lines.length > 1 ? order : null)), cursor,
        svg("text", { x: LEFT - 6, y: 14, "text-anchor": "end" }, amount(most)),
        svg("text", { x: LEFT - 6, y: HIGH - BOTTOM, "text-anchor": "end" }, amount(least)),
        svg("text", { x: LEFT, y: HIGH - 4 }, number(data.steps[0])),
        svg("text", { x: WIDE - 6, y: HIGH - 4, "text-anchor": "end" }, number(data.steps[last])));
      chart.addEventListener("click", (event) => {
        const box = chart.getBoundingClientRect(), x = ((event.clientX - box.left) / box.width) * WIDE;
        go(Math.round(((x - LEFT) / (WIDE - LEFT - 6)) * last));
      });
      return html("figure", {}, html("figcaption", {}, html("b", {}, measure.name), " ", html("span", { class: "value" }), html("br"), html("small", {}, measure.hint)), chart);
    }));
  }

  function curve(values, down, order) {
    let path = "", drawing = false;
    values.forEach((value, place) => {
      if (value !== null) path += `${drawing ? "L" : "M"}${across(place).toFixed(1)} ${down(value).toFixed(1)}`;
      drawing = value !== null;
    });
    return svg("path", { class: order === null ? "curve" : `curve line${order % COLOURS}`, d: path });
  }

  function moveCursors() {
    const values = document.querySelectorAll("#charts .value");
    cursors.forEach((cursor, order) => {
      cursor.setAttribute("x1", across(now.place));
      cursor.setAttribute("x2", across(now.place));
      const lines = data.measures[order].lines;
      values[order].replaceChildren(...lines.flatMap(([label, numbers], n) => {
        const value = numbers[now.place], said = value === null ? "unknown" : amount(value);
        return label ? [swatch(n), ` ${label} ${said} `] : [said];
      }));
    });
  }

  // -- one agent at a step ------------------------------------------------------------

  const since = () => (now.place ? data.steps[now.place - 1] : -Infinity);
  const within = (step) => step > since() && step <= data.steps[now.place];
  const text = (record) => data.texts[record[TEXT]];

  function drawMind() {
    const one = people.get(now.agent);
    $("memory").textContent = one ? one.memory : "";
    show("mind", ...(one ? ofPerson(one) : ofOther()));
  }

  function ofOther() {
    const names = data.people.map((one) => called(one.agent)).join(", ") || "none";
    return [...talk(), html("div", {}, html("p", { class: "hint" },
      `The memory of this agent is not in the report; it has those of ${names}. Choose others with --agents.`))];
  }

  function ofPerson(one) {
    const fresh = one.records.map((record, place) => [record, place]).filter(([record]) => within(record[FROM]));
    const met = fresh.filter(([record]) => !record[DERIVED]).map(([record]) => html("li", {}, mark(record[KIND]), text(record)));
    const made = fresh.filter(([record]) => record[DERIVED]).map(([record, place]) => madeLine(one, record, place));
    const ended = one.records.filter((record) => record[TO] !== null && within(record[TO]));
    const recalled = one.recalls.filter((recall) => within(recall[0]));
    const decided = one.decisions.filter((decision) => within(decision[0]));
    return [
      block("Saw and heard", met, "nothing"),
      block("Came to mind", recalled.map((recall) => recallLine(one, recall)), "nothing was recalled by score"),
      ...(decided.length ? [html("div", {}, html("h3", {}, "Its decisions"), html("ul", { class: "decided" }, ...decided.map(decisionLine)))] : []),
      block("What its memory made of it", [...made, ...endings(ended)], "nothing new"),
      block("Said", mine().map(([, words, recipients]) => html("li", {}, mark(`to ${recipients.map(called).join(", ") || "nobody"}`), data.texts[words])), "nothing"),
      remembered(one),
    ];
  }

  function talk() {
    const told = (data.messages[now.place] || []).filter(([, , recipients]) => recipients.includes(now.agent));
    return [
      block("Heard", told.map(([sender, words]) => html("li", {}, whoButton(sender), ": ", data.texts[words])), "nothing"),
      block("Said", mine().map(([, words]) => html("li", {}, data.texts[words])), "nothing"),
    ];
  }

  const mine = () => (data.messages[now.place] || []).filter(([sender]) => sender === now.agent);
  const mark = (word) => html("span", { class: "mark" }, `${word} `);

  function block(title, lines, empty) {
    const shown = lines.length ? html("ul", { class: "long", tabindex: 0, "aria-label": title }, ...lines) : html("p", { class: "hint" }, empty);
    return html("div", {}, html("h3", {}, title), shown);
  }

  function madeLine(one, record, place) {
    const label = `${record[KIND]}: what it rests on`;
    const why = html("button", { type: "button", class: "who", "aria-label": label, onclick: () => because(one, place) }, record[KIND]);
    const refused = record[BECAUSE] !== null && data.texts[record[BECAUSE]] === "refused" ? " (refused)" : "";
    return html("li", {}, why, `${refused}: `, text(record));
  }

  function endings(ended) {
    const counts = new Map();
    for (const record of ended) {
      const why = record[BECAUSE] === null ? "ended" : data.texts[record[BECAUSE]];
      counts.set(why, (counts.get(why) || 0) + 1);
    }
    return [...counts].map(([why, count]) => html("li", {}, html("span", { class: "mark" }, `${count} ${count === 1 ? "record" : "records"} ${why}`)));
  }

  function recallLine(one, [, purpose, query, names, total, candidates]) {
    const about = query === null ? "about nothing in particular" : `“${data.texts[query]}”`;
    const item = html("li", {}, mark(purpose), about, candidates.length ? "" : ": nothing was recalled");
    const lines = candidates.map((candidate) => candidateLine(one, names, candidates, candidate));
    item.append(html("ul", {}, ...lines.slice(0, FIRST)));
    if (lines.length > FIRST) item.append(html("details", {}, html("summary", {}, `${lines.length - FIRST} more of ${total}`), html("ul", {}, ...lines.slice(FIRST))));
    return item;
  }

  function decisionLine([, purpose, question, memory, answer, calls, after]) {
    const lines = memory.map(([words, how]) => html("li", { class: how || null }, data.texts[words], how ? mark(` ${how === "used" ? "shares words with answer" : how}`) : null));
    const used = lines.filter((line) => line.className === "used").map((line) => line.cloneNode(true));
    const list = (title, items) => (items.length ? [html("div", {}, mark(title), html("ul", {}, ...items))] : []);
    const done = calls.map(([name, given, result]) => html("li", {}, data.texts[name], " ", data.texts[given], mark(" result"), data.texts[result] || "unknown"));
    return html("li", { class: "words" }, mark(purpose), data.texts[question],
      ...list("memory that shares its words", used),
      lines.length ? html("details", {}, html("summary", {}, `Memory in it: ${lines.length} lines`), html("ul", {}, ...lines)) : null,
      html("div", {}, mark("answer"), data.texts[answer]),
      ...list("tool calls", done), ...list("events after it", after.map((words) => html("li", {}, data.texts[words]))));
  }

  function candidateLine(one, names, all, [place, score, shown, parts]) {
    const most = Math.max(...all.map((other) => other[1]), 1e-9), bar = svg("svg", { class: "parts", viewBox: "0 0 100 9", preserveAspectRatio: "none" });
    let x = 0;
    parts.forEach((part, order) => {
      const width = Math.max(0, (part / most) * 100);
      if (width) bar.append(svg("rect", { class: `part${Math.min(order, 6)}`, x: x.toFixed(2), width: width.toFixed(2), height: 9 }, svg("title", {}, `${names[order]} ${number(part)}`)));
      x += width;
    });
    const sum = parts.map((part, order) => [names[order], part]).filter(([, part]) => part).map(([name, part]) => `${name} ${number(part)}`).join(" + ");
    const said = place < 0 ? "a record that is not in this run" : text(one.records[place]);
    return html("li", {}, said, html("br"), mark(`${number(score)} = ${sum || 0}${shown ? "" : "; not shown for want of room"}`), bar);
  }

  function remembered(one) {
    const step = data.steps[now.place];
    const held = one.records.filter((record) => record[FROM] <= step && (record[TO] === null || record[TO] > step));
    const lines = held.map((record) => html("li", {}, mark(`${record[LAYER]}, ${record[KIND]}, step ${number(record[STEP])}`), text(record)));
    return html("div", {}, html("details", {}, html("summary", {}, `Remembered at the end of step ${number(step)}: ${held.length} records`), html("ul", { class: "long", tabindex: 0, "aria-label": "Remembered" }, ...lines)));
  }

  // -- evidence ---------------------------------------------------------------------

  function because(one, place) {
    $("evidence").hidden = false;
    show("tree", html("ul", {}, branch(one, place, 0, new Set())));
    $("evidence").scrollIntoView({ block: "nearest" });
  }

  function branch(one, place, depth, told) {
    if (place < 0) return html("li", {}, mark("not among this agent's records"));
    const record = one.records[place];
    const item = html("li", {}, mark(`${record[KIND]}, step ${number(record[STEP])}`), text(record));
    if (told.has(place)) { item.append(mark(" (told above)")); return item; }
    told.add(place);
    if (record[SOURCES].length && depth < DEEPEST) {
      const below = record[SOURCES].map((source) => branch(one, source, depth + 1, told));
      item.append(html("details", depth < 2 ? { open: "" } : {}, html("summary", {}, `${below.length} sources`), html("ul", {}, ...below)));
    }
    return item;
  }

  // -- time ---------------------------------------------------------------------------

  function go(place) {
    const next = Math.max(0, Math.min(last, place));
    if (next !== now.place) now.picked = null;
    now.place = next;
    draw();
  }
  function draw() {
    const step = number(data.steps[now.place]);
    $("slider").value = now.place;
    $("slider").setAttribute("aria-valuetext", `step ${step}`);
    $("now").textContent = `${step} of ${number(data.steps[last])}`;
    placeAgents(); drawMessages(); colourAgents(); moveCursors(); drawMind();
  }
  function choose(agent) {
    now.agent = agent;
    $("who").value = agent;
    $("evidence").hidden = true;
    colourAgents(); drawMind();
  }
  function pick(order, sender) { now.picked = order; choose(sender); drawMessages(); document.querySelector("#said .picked")?.scrollIntoView({ block: "nearest" }); }
  function stop() { clearInterval(now.timer); now.timer = null; $("play").textContent = "Play"; $("play").setAttribute("aria-label", "Play"); }
  function play() {
    if (now.timer) { stop(); return; }
    if (now.place === last) go(0);
    $("play").textContent = "Pause";
    $("play").setAttribute("aria-label", "Pause");
    now.timer = setInterval(() => { if (now.place === last) stop(); else go(now.place + 1); }, Number($("speed").value));
  }

  data.measures.forEach((measure, order) => {
    if (!measure.agents) return;
    measure.most = measure.agents.reduce((most, row) => row.reduce((found, value) => Math.max(found, Math.abs(value || 0)), most), 0) || 1;
    $("colour").append(html("option", { value: order }, measure.name));
  });
  const full = new Set(people.keys());
  [...full, ...data.agents.keys()].filter((agent, order, all) => all.indexOf(agent) === order)
    .forEach((agent) => $("who").append(html("option", { value: agent }, called(agent) + (full.has(agent) ? "" : " (messages only)"))));
  $("slider").max = last;
  $("slider").addEventListener("input", () => { stop(); go(Number($("slider").value)); });
  $("back").addEventListener("click", () => { stop(); go(now.place - 1); });
  $("forth").addEventListener("click", () => { stop(); go(now.place + 1); });
  $("play").addEventListener("click", play);
  $("speed").addEventListener("change", () => { if (now.timer) { stop(); play(); } });
  $("colour").addEventListener("change", () => { now.measure = Number($("colour").value); colourAgents(); drawLegend(); });
  $("who").addEventListener("change", () => choose(Number($("who").value)));
  $("who").value = now.agent;
  drawTown(); drawCurves(); drawLegend(); draw();
})();

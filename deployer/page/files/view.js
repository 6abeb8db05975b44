// SPDX-License-Identifier: Apache-2.0
// Makes elements of the page from documents of the API. Texts are set as text, never as HTML.
// The build puts all scripts into one, see assemble.cmake: what is declared here is known in the others.

const SVG = "http://www.w3.org/2000/svg";

const $ = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== null));
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function duration(seconds) {
  if (!(seconds >= 0)) return "";
  const units = [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]];
  if (seconds < 10 && seconds % 1) return `${seconds.toFixed(1)}s`;
  let left = Math.round(seconds);
  const parts = [];
  for (const [unit, size] of units) {
    const count = Math.floor(left / size);
    if (count) parts.push(`${count}${unit}`);
    left -= count * size;
  }
  return parts.slice(0, 2).join("") || "0s";
}

const seconds = (from, to) => Math.max(0, (to - from) / 1000);

function age(time, now) {
  return time ? `${duration(Math.floor(seconds(Date.parse(time), now)))} ago` : "";
}

function took(row, now) {
  if (!row.startedAt) return "";
  return duration(seconds(Date.parse(row.startedAt), row.finishedAt ? Date.parse(row.finishedAt) : now));
}

function badge(state, tone) {
  return element("span", {class: `badge ${tone || "idle"}`}, state || "");
}

// ---- Plots ----

const WIDTH = 600;
const HEIGHT = 64;
const TOP = 4; // of the highest bar

const clock = (minute) => new Date(minute.minute).toLocaleTimeString([], {hour: "2-digit", minute: "2-digit"});

// peak: what the height of the plot stands for, as a text.
function plot(name, minutes, largest, peak, bars, label) {
  const svg = $(`${name}-plot`);
  const step = WIDTH / minutes.length;
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  $(`${name}-peak`).textContent = largest ? peak : "";
  $(`${name}-from`).textContent = clock(minutes[0]);
  svg.replaceChildren(...[TOP, (TOP + HEIGHT) / 2, HEIGHT - 0.5].map((y) => shape("line", {class: "grid", x1: 0, x2: WIDTH, y1: y, y2: y})));
  minutes.forEach((minute, i) => {
    let top = HEIGHT - 1;
    for (const [name, value, isStacked] of bars(minute)) {
      const height = largest ? (value / largest) * (HEIGHT - TOP - 1) : 0;
      if (!height) continue;
      const bar = shape("rect", {class: name, x: i * step + 1, width: step - 2, y: top - height, height, rx: 1});
      bar.append(shape("title", {}, label(minute)));
      svg.append(bar);
      if (isStacked) top -= height;
    }
  });
}

function drawPlots(minutes) {
  const sums = minutes.map((minute) => minute.succeeded + minute.failed);
  const total = sums.reduce((sum, value) => sum + value, 0);
  const failed = minutes.reduce((sum, minute) => sum + minute.failed, 0);
  const times = minutes.filter((minute) => minute.meanSeconds !== undefined);
  const longest = Math.max(0, ...times.map((minute) => minute.maxSeconds));
  const mean = times.reduce((sum, m) => sum + m.meanSeconds * (m.succeeded + m.failed), 0) /
    (times.reduce((sum, m) => sum + m.succeeded + m.failed, 0) || 1);

  $("rate").textContent = total ? `${total.toLocaleString()} in the last hour, ${failed.toLocaleString()} failed` : "none in the last hour";
  $("time").textContent = times.length ? `mean ${duration(mean)}, longest ${duration(longest)}` : "";
  plot("rate", minutes, Math.max(...sums), Math.max(...sums).toLocaleString(),
    (m) => [["ok", m.succeeded, true], ["fail", m.failed, true]],
    (m) => `${clock(m)}: ${m.succeeded} succeeded, ${m.failed} failed`);
  plot("time", minutes, longest, duration(longest),
    (m) => [["most", m.maxSeconds || 0], ["mean", m.meanSeconds || 0]],
    (m) => `${clock(m)}: mean ${duration(m.meanSeconds)}, longest ${duration(m.maxSeconds)}`);
}

// ---- Detail ----

const TONES = {done: "good", failed: "bad", running: "busy", pending: "idle", skipped: "idle", succeeded: "good"};

function timeline(steps, now) {
  const times = steps.flatMap((step) => [step.startedAt, step.finishedAt]).filter(Boolean).map((text) => Date.parse(text));
  const isRunning = steps.some((step) => step.state === "running");
  const first = Math.min(...times);
  const last = Math.max(...times, isRunning ? now : 0, first + 1000);
  const grid = element("div", {class: "timeline", role: "list"});
  for (const step of steps) {
    const from = step.startedAt && Date.parse(step.startedAt);
    const to = step.finishedAt ? Date.parse(step.finishedAt) : step.state === "running" ? now : from;
    const svg = shape("svg", {viewBox: "0 0 100 18", preserveAspectRatio: "none", role: "presentation"});
    const amount = from && to !== from || step.state === "done" ? duration(seconds(from, to)) : step.state;
    if (from) {
      svg.append(shape("rect", {
        class: TONES[step.state], x: ((from - first) / (last - first)) * 98, y: 2, height: 14,
        width: Math.max(1.5, ((to - from) / (last - first)) * 98), rx: 1,
      }));
    }
    grid.append(
      element("span", {role: "listitem", "aria-label": `${step.name}: ${step.state}, ${amount}`}, step.name),
      svg, element("span", {class: "amount", "aria-hidden": "true"}, amount));
    if (step.detail && step.state === "failed") grid.append(element("span", {class: "why"}, step.detail));
  }
  return grid;
}

function pairs(facts) {
  const list = element("dl", {class: "pairs"});
  for (const fact of facts) list.append(element("dt", {}, fact.label), element("dd", {}, fact.value));
  return list;
}

function errorBox(error) {
  const box = element("div", {class: "error"});
  box.append(element("p", {}, element("b", {}, error.reason || error.operation || "Error"),
    error.operation && error.reason ? ` in ${error.operation}` : null));
  if (error.message) box.append(element("p", {}, error.message));
  if (error.cause) box.append(element("p", {}, `Cause: ${error.cause}`));
  if (error.solution) box.append(element("p", {}, `Solution: ${error.solution}`));
  return box;
}

function conditionList(conditions, now) {
  const list = element("ul", {class: "plain"});
  for (const condition of conditions) {
    const isGood = condition.status === "True";
    list.append(element("li", {},
      element("div", {class: "line"}, badge(condition.type, isGood ? "good" : condition.status === "False" ? "bad" : "idle"),
        element("span", {}, `${condition.status || ""}${condition.reason ? `, ${condition.reason}` : ""}`),
        element("span", {}, age(condition.lastTransitionTime, now))),
      condition.message ? element("p", {class: "note"}, condition.message) : null));
  }
  return list;
}

function runList(runs, now) {
  const list = element("ul", {class: "plain"});
  for (const run of runs) {
    list.append(element("li", {}, element("div", {class: "line"}, badge(run.state, TONES[run.state]),
      element("span", {}, [took(run, now), run.reason].filter(Boolean).join(", ")),
      element("code", {}, run.job), element("span", {}, age(run.finishedAt, now)))));
  }
  return list;
}

function relatedList(related, links) {
  const list = element("ul", {class: "plain"});
  for (const other of related) {
    const name = [other.namespace, other.name].filter(Boolean).join("/");
    list.append(element("li", {}, element("div", {class: "line"}, badge(other.state, other.tone),
      other.kind ? element("a", {href: links.object(other)}, name) : element("span", {}, name),
      element("span", {}, other.reason || ""))));
  }
  return list;
}

function closeButton(close) {
  const button = element("button", {class: "close", type: "button", "aria-label": "Close"}, "\u2715");
  button.addEventListener("click", close);
  return button;
}

// close: called by the button. links: make the addresses of another object, and of all objects of a namespace.
function showDetail(panel, doc, tone, now, close, links) {
  const row = doc.row;
  const add = (title, part) => part && panel.append(element("h3", {}, title), part);

  panel.replaceChildren(
    element("div", {class: "top"}, element("div", {},
      element("p", {class: "note"}, row.namespace ? element("a", {href: links.namespace(row.namespace), title: "Show all of them"}, row.namespace) : ""),
      element("h2", {id: "detail-name"}, row.name),
      badge(row.state, tone)), closeButton(close)));
  if (doc.error) panel.append(errorBox(doc.error));
  add("Timeline of the last job", doc.timeline && doc.timeline.length ? timeline(doc.timeline, now) : null);
  add("Facts", doc.facts && doc.facts.length ? pairs(doc.facts) : null);
  add(doc.relatedTitle || "Related", doc.related && doc.related.length ? relatedList(doc.related, links) : null);
  add("Conditions", doc.conditions && doc.conditions.length ? conditionList(doc.conditions, now) : null);
  add("Last runs since the start of the controller", doc.runs && doc.runs.length ? runList(doc.runs, now) : null);
}

// SPDX-License-Identifier: Apache-2.0
// The state of the page, and its requests. What is shown is in the fragment of the address, so that it can be shared.
import {age, badge, closeButton, drawPlots, element, showDetail, took} from "./view.js";

const PAGE = 50;
const SILENCE_MS = 25000; // the server sends something every 10 seconds
const REFRESH_MS = 1000; // between two requests for rows
const OVERVIEW_MS = 5000;
const RETRY_MAX_MS = 15000;

const $ = (id) => document.getElementById(id);
const state = {overview: null, rows: [], total: 0, offset: 0, skew: 0, fresh: new Map()};
const now = () => Date.now() + state.skew;

// ---- The address ----

function address() {
  const given = new URLSearchParams(location.hash.slice(1));
  return {
    kind: given.get("kind") || "", search: given.get("search") || "", order: given.get("order") || "recent",
    states: (given.get("state") || "").split(",").filter(Boolean), offset: Number(given.get("offset")) || 0,
    open: given.get("open") || "",
  };
}

function addressOf(wanted) {
  const text = new URLSearchParams();
  if (wanted.kind) text.set("kind", wanted.kind);
  if (wanted.search) text.set("search", wanted.search);
  if (wanted.order && wanted.order !== "recent") text.set("order", wanted.order);
  if (wanted.states.length) text.set("state", wanted.states.join(","));
  if (wanted.offset) text.set("offset", wanted.offset);
  if (wanted.open) text.set("open", wanted.open);
  return `#${text}`;
}

function go(change, isReplaced) {
  const target = addressOf({...address(), ...change});
  if (target === location.hash || (target === "#" && !location.hash)) return;
  if (isReplaced) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  show();
}

const keyOf = (row) => `${row.namespace || ""}/${row.name}`;

// ---- Requests ----

class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

async function request(path, parameters = {}, options = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value));
  const token = sessionStorage.getItem("token");
  const answer = await fetch(`api/v1/${path}${query.size ? `?${query}` : ""}`, {
    ...options, cache: "no-store", credentials: "omit", headers: token ? {Authorization: `Bearer ${token}`} : {},
  });
  if (answer.ok) return answer;
  const doc = await answer.json().catch(() => ({}));
  throw new Refused(answer.status, doc.error || `HTTP status ${answer.status}`);
}

function kind() {
  const wanted = address().kind;
  return state.overview.kinds.find((known) => known.name === wanted) || state.overview.kinds[0];
}

const toneOf = (name) => (kind().states.find((known) => known.name === name) || {}).tone;

// One request of a sort at a time; what is asked for meanwhile is done once afterwards.
function serial(work, pauseMs) {
  let isRunning = false;
  let isWanted = false;
  return async function run() {
    if (isRunning) {
      isWanted = true;
      return;
    }
    isRunning = true;
    try {
      await work();
    } catch (problem) {
      report(problem);
    }
    if (pauseMs) await new Promise((done) => setTimeout(done, pauseMs));
    isRunning = false;
    if (isWanted) {
      isWanted = false;
      run();
    }
  };
}

const loadOverview = serial(async () => {
  state.overview = await (await request("overview")).json();
  state.skew = Date.parse(state.overview.time) - Date.now();
  if (Math.abs(state.skew) < 2000) state.skew = 0;
  drawOverview();
}, OVERVIEW_MS);

let wanted = 0; // number of the latest question; answers to earlier ones are ignored

async function askRows() {
  const shown = address();
  const mine = ++wanted;
  const doc = await (await request("rows", {
    kind: kind().name, search: shown.search, state: shown.states.join(","), order: shown.order,
    offset: shown.offset, limit: PAGE,
  })).json();
  if (mine !== wanted) return;
  if (doc.offset && doc.offset >= doc.total) {
    go({offset: Math.max(0, Math.floor((doc.total - 1) / PAGE) * PAGE)}, true);
    return;
  }
  drawRows(doc);
}

const refreshRows = serial(askRows, REFRESH_MS);
const loadRows = () => askRows().catch(report);

const loadDetail = serial(async () => {
  const open = address().open;
  const panel = $("detail");
  if (!open) return;
  const slash = open.indexOf("/");
  try {
    const doc = await (await request("row", {kind: kind().name, namespace: open.slice(0, slash), name: open.slice(slash + 1)})).json();
    if (open !== address().open) return;
    showDetail(panel, doc, toneOf(doc.row.state), now(), close, (other) =>
      addressOf({...address(), kind: other.kind, open: keyOf(other), offset: 0, states: [], search: ""}));
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    panel.replaceChildren(element("div", {class: "top"}, element("div", {}, element("h2", {id: "detail-name"}, open),
      element("p", {}, "This object does not exist any more.")), closeButton(close)));
  }
  if (panel.hidden) {
    panel.hidden = false;
    panel.focus({preventScroll: true});
  }
});

function close() {
  const open = address().open;
  go({open: ""});
  const row = [...$("rows").children].find((line) => line.dataset.key === open);
  if (row) row.querySelector("a").focus();
}

// ---- Drawing ----

function drawOverview() {
  const doc = state.overview;
  const facts = [...doc.facts, {label: "Version", value: doc.programVersion}];
  $("main").hidden = false;
  $("login").hidden = true;
  $("program").textContent = doc.program;
  document.title = `Longshore ${doc.program}`;
  $("facts").replaceChildren(...facts.map((fact) => element("div", {}, element("dt", {}, fact.label), element("dd", {}, fact.value))));
  $("kinds").hidden = doc.kinds.length < 2;
  $("kinds").replaceChildren(...doc.kinds.map((known) => {
    const button = element("button", {type: "button", "aria-current": String(known === kind())}, `${known.title} ${known.total.toLocaleString()}`);
    button.addEventListener("click", () => go({kind: known.name, states: [], open: "", offset: 0}));
    return button;
  }));
  $("type-title").textContent = kind().typeTitle;
  drawStates();
  $("plots").hidden = !doc.minutes;
  if (doc.minutes) drawPlots(doc.minutes);
}

function drawStates() {
  const chosen = address().states;
  const box = $("states");
  const known = kind().states;
  if (box.dataset.kind !== kind().name) {
    box.dataset.kind = kind().name;
    box.replaceChildren(...known.map((entry) => {
      const button = element("button", {type: "button", "data-state": entry.name}, element("b", {}), element("span", {}, entry.name));
      button.addEventListener("click", () => {
        const old = address().states;
        go({states: old.includes(entry.name) ? old.filter((name) => name !== entry.name) : [...old, entry.name], offset: 0});
      });
      return button;
    }));
  }
  known.forEach((entry, i) => {
    const button = box.children[i];
    button.className = `${entry.tone}${entry.count ? "" : " zero"}`;
    button.setAttribute("aria-pressed", String(chosen.includes(entry.name)));
    button.firstChild.textContent = entry.count.toLocaleString();
  });
}

function makeRow(row) {
  const key = keyOf(row);
  const link = element("a", {href: addressOf({...address(), open: key})},
    row.namespace ? element("span", {class: "space"}, `${row.namespace}/`) : null, row.name);
  const line = element("tr", {"data-key": key, "data-state": row.state},
    element("td", {title: key}, link), element("td", {}, row.type || ""),
    element("td", {}, badge(row.state, toneOf(row.state))), element("td", {title: row.reason}, row.reason || ""),
    element("td", {class: "soft", title: row.changedAt}, age(row.changedAt, now())),
    element("td", {class: "soft"}, took(row, now())));
  line.row = row;
  return line;
}

function drawRows(doc) {
  const focused = document.activeElement && document.activeElement.closest && document.activeElement.closest("#rows tr");
  const focusKey = focused && focused.dataset.key;
  const old = new Map([...$("rows").children].map((line) => [line.dataset.key, line.dataset.state]));
  const lines = doc.rows.map(makeRow);
  for (const line of lines) {
    const before = old.get(line.dataset.key);
    if (before && before !== line.dataset.state) line.className = "fresh";
  }
  state.total = doc.total;
  state.offset = doc.offset;
  $("rows").replaceChildren(...lines);
  markOpen();
  const again = lines.find((line) => line.dataset.key === focusKey);
  if (again) again.querySelector("a").focus({preventScroll: true});
  const last = doc.offset + doc.rows.length;
  const isFiltered = address().search || address().states.length;
  $("caption").textContent = `${doc.total.toLocaleString()} ${isFiltered ? "matching " : ""}${kind().title.toLowerCase()}`;
  $("range").textContent = doc.total ? `${(doc.offset + 1).toLocaleString()} to ${last.toLocaleString()}` : "";
  $("first").disabled = $("previous").disabled = doc.offset === 0;
  $("next").disabled = $("last").disabled = last >= doc.total;
  $("empty").hidden = doc.total > 0;
  $("table").hidden = doc.total === 0;
  $("empty").textContent = !state.overview.isComplete ? "The list is still being read." : isFiltered ? "Nothing matches the filter." : "There is nothing to show yet.";
}

function markOpen() {
  const open = address().open;
  for (const line of $("rows").children) {
    if (line.dataset.key === open) line.setAttribute("aria-selected", "true");
    else line.removeAttribute("aria-selected");
  }
}

function show() {
  const shown = address();
  if (!state.overview) return;
  if ($("search").value.trim() !== shown.search) $("search").value = shown.search;
  $("order").value = shown.order;
  drawOverview();
  loadRows();
  markOpen();
  if (shown.open) loadDetail();
  else $("detail").hidden = true;
}

function tick() {
  for (const line of $("rows").children) {
    line.children[4].textContent = age(line.row.changedAt, now());
    if (!line.row.finishedAt) line.children[5].textContent = took(line.row, now());
  }
}

// ---- Connection ----

let attempt = 0;
let stream = null;
let retryTimer = 0;

function report(problem) {
  if (problem.status === 401 || problem.status === 403) signIn(problem);
  else if (problem.status === 400 || problem.status === 404) console.warn(problem.message);
  else if (stream) stream.abort();
}

function signIn(problem) {
  const isFirst = !sessionStorage.getItem("token");
  sessionStorage.removeItem("token");
  clearTimeout(retryTimer);
  if (stream) stream.abort("login");
  setLink("connecting", "Not signed in");
  $("lost").hidden = $("main").hidden = true;
  $("login-text").textContent = isFirst && problem.status === 401 ? "This page needs a bearer token of the cluster." : problem.message;
  if (!$("login").hidden) return;
  $("login").hidden = false;
  $("token").focus();
}

function setLink(name, text) {
  $("link").dataset.state = name;
  if ($("link").lastChild.textContent !== text) $("link").lastChild.textContent = text;
}

function onUpdate(doc) {
  if (!state.overview) return;
  for (const known of state.overview.kinds) {
    const counts = doc.counts[known.name] || {};
    for (const entry of known.states) entry.count = counts[entry.name] || 0;
    known.total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  }
  drawStates();
  if (document.hidden) return;
  if (doc.changed === null || doc.changed.length) {
    refreshRows();
    loadOverview();
  }
  if (address().open && (!doc.changed || doc.changed.includes(`${kind().name}/${address().open}`))) loadDetail();
}

async function read(body, control) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const silence = setTimeout(() => control.abort(), SILENCE_MS);
    const {value, done} = await reader.read().finally(() => clearTimeout(silence));
    if (done) return;
    text += value;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const data = text.slice(0, end).split("\n").find((line) => line.startsWith("data: "));
      text = text.slice(end + 2);
      if (data) onUpdate(JSON.parse(data.slice(6)));
    }
  }
}

async function connect() {
  const control = new AbortController();
  const before = attempt;
  stream = control;
  clearTimeout(retryTimer);
  try {
    const answer = await request("events", {}, {signal: control.signal});
    if (!state.overview || before) {
      state.overview = await (await request("overview", {}, {signal: control.signal})).json();
      state.skew = Math.abs(Date.parse(state.overview.time) - Date.now()) < 2000 ? 0 : Date.parse(state.overview.time) - Date.now();
      show();
    }
    attempt = 0;
    $("lost").hidden = true;
    setLink("live", "Live");
    await read(answer.body, control);
    setTimeout(connect, 200); // the server ends a stream now and then
  } catch (problem) {
    if (problem.status === 401 || problem.status === 403) signIn(problem);
    else if (control.signal.reason !== "login") lost(problem);
  }
}

function lost(problem) {
  const delay = Math.min(RETRY_MAX_MS, 1000 * 2 ** attempt++);
  setLink("lost", "Connection lost");
  $("lost-text").textContent = `${problem.status ? problem.message : "The connection is lost. What is shown may be out of date."} Retrying every ${delay / 1000} s.`;
  $("lost").hidden = false;
  retryTimer = setTimeout(connect, delay);
}

// ---- Input ----

function turn(to) {
  const last = Math.max(0, Math.floor((state.total - 1) / PAGE) * PAGE);
  go({offset: Math.min(last, Math.max(0, to))});
}

function moveFocus(by) {
  const links = [...$("rows").querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + by))];
  if (next) next.focus();
}

function onKey(event) {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey || $("main").hidden) return;
  if (event.key === "Escape" && address().open) close();
  else if (event.key === "Escape" && isTyping) event.target.blur();
  else if (event.key === "ArrowDown" && event.target === $("search")) moveFocus(1);
  else if (isTyping) return;
  else if (event.key === "/") $("search").focus();
  else if (event.key === "ArrowDown" && !event.target.closest("aside")) moveFocus(1);
  else if (event.key === "ArrowUp" && !event.target.closest("aside")) moveFocus(-1);
  else if (event.key === "[") turn(state.offset - PAGE);
  else if (event.key === "]") turn(state.offset + PAGE);
  else return;
  event.preventDefault();
}

function start() {
  let typing = 0;
  $("search").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => go({search: $("search").value.trim(), offset: 0}, true), 150);
  });
  $("order").addEventListener("change", () => go({order: $("order").value, offset: 0}));
  $("first").addEventListener("click", () => turn(0));
  $("previous").addEventListener("click", () => turn(state.offset - PAGE));
  $("next").addEventListener("click", () => turn(state.offset + PAGE));
  $("last").addEventListener("click", () => turn(state.total));
  $("rows").addEventListener("click", (event) => {
    const line = event.target.closest("tr");
    if (!line || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    go({open: line.dataset.key});
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    $("main").focus();
  });
  $("retry").addEventListener("click", connect);
  $("login").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem("token", $("token").value.trim());
    $("token").value = "";
    state.overview = null;
    connect();
  });
  document.addEventListener("keydown", onKey);
  document.addEventListener("visibilitychange", () => !document.hidden && state.overview && show());
  addEventListener("popstate", show);
  addEventListener("hashchange", show);
  setInterval(tick, 1000);
  setInterval(() => state.overview && !document.hidden && $("lost").hidden && loadOverview(), 30000);
  connect();
}

start();

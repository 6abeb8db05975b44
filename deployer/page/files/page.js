// SPDX-License-Identifier: Apache-2.0
// The state of the page, and its requests. What is shown is in the fragment of the address, so that it can be shared.

const PAGE = 50;
const REFRESH_MS = 1000; // between two requests for rows
const OVERVIEW_MS = 5000;
const TYPING_MS = 150; // until the next key
const SUGGESTIONS = 50;

// counts: by state in the namespace that is shown. version: of the last update.
const state = {overview: null, total: 0, offset: 0, skew: 0, counts: null, version: null};
const now = () => Date.now() + state.skew;

// ---- The address ----

function address() {
  const given = new URLSearchParams(location.hash.slice(1));
  return {
    kind: given.get("kind") || "", namespace: given.get("namespace") || "", search: given.get("search") || "", order: given.get("order") || "recent",
    states: (given.get("state") || "").split(",").filter(Boolean), offset: Number(given.get("offset")) || 0,
    open: given.get("open") || "",
  };
}

function addressOf(wanted) {
  const text = new URLSearchParams();
  if (wanted.kind) text.set("kind", wanted.kind);
  if (wanted.namespace) text.set("namespace", wanted.namespace);
  if (wanted.search) text.set("search", wanted.search);
  if (wanted.order && wanted.order !== "recent") text.set("order", wanted.order);
  if (wanted.states.length) text.set("state", wanted.states.join(","));
  if (wanted.offset) text.set("offset", wanted.offset);
  if (wanted.open) text.set("open", wanted.open);
  return `#${text}`;
}

const NOTHING_ELSE = {namespace: "", search: "", order: "", states: [], offset: 0, open: ""};

function go(change, isReplaced) {
  const target = addressOf({...address(), ...change});
  if (target === location.hash || (target === "#" && !location.hash)) return;
  if (isReplaced) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  show();
}

const keyOf = (row) => `${row.namespace || ""}/${row.name}`;

// ---- Requests ----

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

let suggestTimer = 0;
let wanted = 0; // number of the latest question; answers to earlier ones are ignored

async function askRows() {
  const shown = address();
  const mine = ++wanted;
  const doc = await (await request("rows", {
    kind: kind().name, namespace: shown.namespace, search: shown.search, state: shown.states.join(","), order: shown.order,
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
    showDetail(panel, doc, toneOf(doc.row.state), now(), close, {
      object: (other) => addressOf({...NOTHING_ELSE, kind: other.kind, open: keyOf(other)}),
      namespace: (name) => addressOf({...NOTHING_ELSE, kind: address().kind, namespace: name}),
    });
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

// Names that contain what is typed; there can be too many to list all of them.
const suggestNamespaces = serial(async () => {
  const doc = await (await request("namespaces", {kind: kind().name, search: $("namespace").value.trim(), limit: SUGGESTIONS})).json();
  $("namespaces").replaceChildren(...doc.namespaces.map((known) => {
    const bad = kind().states.filter((entry) => entry.tone === "bad" && known.counts[entry.name]);
    const parts = [`${known.total.toLocaleString()} ${kind().title.toLowerCase()}`, ...bad.map((entry) => `${known.counts[entry.name].toLocaleString()} ${entry.name}`)];
    return element("option", {value: known.name, label: parts.join(", ")});
  }));
});

function onNamespaceInput() {
  const value = $("namespace").value.trim();
  clearTimeout(suggestTimer);
  if (!value || [...$("namespaces").options].some((option) => option.value === value)) chooseNamespace();
  suggestTimer = setTimeout(suggestNamespaces, TYPING_MS);
}

const chooseNamespace = () => go({namespace: $("namespace").value.trim(), offset: 0});

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
    button.addEventListener("click", () => go({...NOTHING_ELSE, kind: known.name, search: address().search, order: address().order}));
    return button;
  }));
  $("type-title").textContent = kind().typeTitle;
  $("namespace-field").hidden = !kind().namespaceTitle;
  $("namespace-title").textContent = kind().namespaceTitle || "";
  drawStates();
  $("plots").hidden = !doc.minutes;
  if (doc.minutes) drawPlots(doc.minutes);
}

function drawStates() {
  const chosen = address().states;
  const counts = address().namespace && state.counts;
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
    const count = counts ? counts[entry.name] || 0 : entry.count;
    button.className = `${entry.tone}${count ? "" : " zero"}`;
    button.setAttribute("aria-pressed", String(chosen.includes(entry.name)));
    button.firstChild.textContent = count.toLocaleString();
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
  state.counts = doc.counts;
  drawStates();
  $("rows").replaceChildren(...lines);
  markOpen();
  const again = lines.find((line) => line.dataset.key === focusKey);
  if (again) again.querySelector("a").focus({preventScroll: true});
  const last = doc.offset + doc.rows.length;
  const isFiltered = address().namespace || address().search || address().states.length;
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
  if ($("namespace").value.trim() !== shown.namespace) $("namespace").value = shown.namespace;
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
  else if (event.key === "n" && !$("namespace-field").hidden) $("namespace").focus();
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
    typing = setTimeout(() => go({search: $("search").value.trim(), offset: 0}, true), TYPING_MS);
  });
  $("namespace").addEventListener("focus", suggestNamespaces);
  $("namespace").addEventListener("input", onNamespaceInput);
  $("namespace").addEventListener("change", chooseNamespace);
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

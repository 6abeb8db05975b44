// SPDX-License-Identifier: Apache-2.0
// Requests of the page, the stream of updates, and what is shown while there is no connection.

const SILENCE_MS = 25000; // the server sends something every 10 seconds
const RETRY_MAX_MS = 15000;

let attempt = 0; // failed attempts to connect
let stream = null; // aborts the connection
let retryTimer = 0;

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

// ---- The stream ----

function onUpdate(doc) {
  if (!state.overview) return;
  for (const known of state.overview.kinds) {
    const counts = doc.counts[known.name] || {};
    for (const entry of known.states) entry.count = counts[entry.name] || 0;
    known.total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  }
  drawStates();
  // The first update of a stream names nothing, even if something has changed since the end of the one before it.
  const isUnknown = !doc.changed || (!doc.changed.length && state.version !== null && doc.version !== state.version);
  state.version = doc.version;
  if (document.hidden) return;
  if (isUnknown || doc.changed.length) {
    refreshRows();
    loadOverview();
  }
  if (address().open && (isUnknown || doc.changed.includes(`${kind().name}/${address().open}`))) loadDetail();
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


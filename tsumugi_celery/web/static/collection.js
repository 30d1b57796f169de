// The repeats of a collection, in the order of their ids: a page of them, patched row by row.

import { $, copyOf, fieldsOf, make, rebuild, Rows, setAttribute, setText, show } from "./dom.js";
import { at, now, send } from "./api.js";
import { acts, label } from "./acts.js";
import { addCancel } from "./cancel.js";
import { focusOnSlash } from "./keys.js";
import { Poller } from "./poll.js";
import { showLast, showNext } from "./summary.js";
import { asTold, clock } from "./times.js";
import { plural, whenText } from "./words.js";

const PAGE = 50;
// `cursors`: what the pages so far began after; the address has the last one alone.
const view = { collection: "", prefix: "", cursors: [null] };
// What was cancelled here stays where it was until another page is shown, to say so.
const gone = new Map();
let following = null;
let listed = [];
let rows = null;
let poller = null;

/** Show a collection instead of the list of them. */
export function showRepeats(collection) {
  view.collection = collection;
  document.title = `${collection} · Repeats · Tsumugi`;
  setText($("heading"), collection);
  show($("crumbs"));
  rows = new Rows($("rows"), (repeat) => repeat.id, createRow);
  readAddress();
  listen();
  poller = new Poller(path, use, { unknown });
}

function createRow(first) {
  const element = copyOf("row");
  const f = fieldsOf(element);
  let shown = first;
  const ask = (action) => {
    const query = new URLSearchParams({ id: first.id });
    return send(at("repeats", view.collection, `/${action}?${query}`));
  };
  setText(f.name, first.id);
  acts(f.pause, f.said, async () => {
    const after = await ask(shown.paused ? "resume" : "pause");
    if (after.paused) return `Paused at ${clock(now())}. A run under way finishes.`;
    if (after.next_run_at === null) return `Resumed at ${clock(now())}.`;
    return `Resumed at ${clock(now())}. Next: ${asTold(after.next_run_local)} ${after.utc_offset}.`;
  });
  addCancel(f.cancel, f.said, () => first.id, async () => {
    const before = listed[listed.findIndex(({ id }) => id === first.id) - 1]?.id;
    const after = await ask("cancel");
    gone.set(first.id, { before, repeat: { ...after, cancelled: true } });
    // The button that was pressed goes.
    show(f.buttons, false);
    f.said.focus();
    return `Cancelled at ${clock(now())}. A run under way finishes.`;
  });
  return {
    element,
    update(repeat) {
      shown = repeat;
      fill(f, repeat);
      element.classList.toggle("is-paused", repeat.paused || Boolean(repeat.cancelled));
    },
  };
}

function fill(f, repeat) {
  const ended = Boolean(repeat.cancelled);
  setText(f.when, whenText(repeat));
  setText(f.payload, repeat.payload);
  const badges = ended ? ["Cancelled"] : repeat.paused ? ["Paused"] : [];
  rebuild(f.badges, badges, () => badges.map((text) => make("span", { class: "badge paused" }, text)));
  showNext(f, ended ? { ...repeat, paused: false, next_run_at: null, waits_for_run: false } : repeat);
  showLast(f, repeat);
  label(f.pause, repeat.paused ? "Resume" : "Pause", repeat.id);
  show(f.buttons, !ended);
}

function path() {
  const query = new URLSearchParams({ prefix: view.prefix, limit: PAGE });
  const after = view.cursors.at(-1);
  if (after !== null) query.set("after", after);
  return at("repeats", view.collection, `?${query}`);
}

function use(page) {
  if (!page.repeats.length && view.cursors.length > 1 && !gone.size) {
    // The last page has become empty.
    go({ cursors: view.cursors.slice(0, -1) });
    return;
  }
  following = page.next;
  listed = withGone(page.repeats);
  rows.update(listed);
  const { total } = page;
  for (const id of ["loading", "unknown"]) show($(id), false);
  show($("filter"));
  show($("repeats"), listed.length > 0);
  show($("none"), !listed.length && !view.prefix);
  show($("no-match"), !listed.length && Boolean(view.prefix));
  setText($("no-match-text"), `No id begins with “${view.prefix}”.`);
  setText($("count"), `${plural(total, "repeat")}${view.prefix ? " found" : ""}`);
  const isFirst = view.cursors.length === 1;
  show($("pager"), !isFirst || following !== null);
  for (const id of ["first", "previous"]) setAttribute($(id), "aria-disabled", isFirst);
  setAttribute($("next"), "aria-disabled", following === null);
  setText($("range"), `${plural(page.repeats.length, "repeat")} of ${total.toLocaleString("en")}`);
}

function withGone(repeats) {
  const list = [...repeats];
  for (const [id, { before, repeat }] of gone) {
    // Set again meanwhile.
    if (repeats.some((each) => each.id === id)) gone.delete(id);
    else list.splice(list.findIndex((each) => each.id === before) + 1, 0, repeat);
  }
  return list;
}

function unknown(failure) {
  for (const id of ["loading", "filter", "repeats", "none", "no-match", "pager"]) show($(id), false);
  setText($("count"), "");
  setText($("unknown-text"), failure.message);
  show($("unknown"));
}

/** Change what is shown; the address keeps it, so that it can be gone back to and shared. */
function go(change, { remember = true } = {}) {
  Object.assign(view, change);
  gone.clear();
  const query = new URLSearchParams({ collection: view.collection });
  if (view.prefix) query.set("prefix", view.prefix);
  const after = view.cursors.at(-1);
  if (after !== null) query.set("after", after);
  const state = { cursors: view.cursors };
  history[remember ? "pushState" : "replaceState"](state, "", `${location.pathname}?${query}`);
  poller.now();
}

function readAddress() {
  const query = new URLSearchParams(location.search);
  const after = query.get("after");
  view.prefix = query.get("prefix") ?? "";
  view.cursors = history.state?.cursors ?? (after ? [null, after] : [null]);
  $("prefix").value = view.prefix;
}

function listen() {
  let typing = null;
  $("prefix").addEventListener("input", () => {
    clearTimeout(typing);
    const change = { prefix: $("prefix").value, cursors: [null] };
    typing = setTimeout(() => go(change, { remember: false }), 200);
  });
  $("filter").addEventListener("submit", (event) => event.preventDefault());
  $("clear").addEventListener("click", () => {
    $("prefix").value = "";
    go({ prefix: "", cursors: [null] });
    $("prefix").focus();
  });
  const turn = (cursors) => {
    go({ cursors });
    $("repeats").scrollIntoView({ block: "nearest" });
  };
  $("first").addEventListener("click", () => {
    if (view.cursors.length > 1) turn([null]);
  });
  $("previous").addEventListener("click", () => {
    if (view.cursors.length > 1) turn(view.cursors.slice(0, -1));
  });
  $("next").addEventListener("click", () => {
    if (following !== null) turn([...view.cursors, following]);
  });
  window.addEventListener("popstate", () => {
    gone.clear();
    readAddress();
    poller.now();
  });
  focusOnSlash($("prefix"));
}

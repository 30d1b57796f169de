// The page with the list of schedules.

import { $, copyOf, fieldsOf, Rows, setAttribute, setText, show } from "./dom.js";
import { focusOnSlash } from "./keys.js";
import { Poller } from "./poll.js";
import { start } from "./signin.js";
import { addActions, pageOf, showSummary } from "./summary.js";
import { plural, whenText } from "./words.js";

const PAGE = 50;
const STRIP = 20;
const SHOWN = {
  running: { paused: "false" },
  paused: { paused: "true" },
  failing: { failing: "true" },
  job: { kind: "job" },
  flow: { kind: "flow" },
};
const view = { search: "", show: "", offset: 0 };
let total = 0;

const rows = new Rows($("rows"), (schedule) => schedule.name, createRow);
const poller = new Poller(path, use);

function createRow(first) {
  const element = copyOf("row");
  const f = fieldsOf(element);
  let shown = first;
  let text = "";
  setText(f.name, first.name || "(no name)");
  setAttribute(f.name, "href", pageOf(first.name));
  addActions(f, () => shown);
  return {
    element,
    update(schedule) {
      shown = schedule;
      const changed = JSON.stringify(schedule);
      if (changed === text) return;
      text = changed;
      setText(f.kind, schedule.kind === "flow" ? "Flow" : "Job");
      setText(f.target, schedule.target);
      setText(f.when, whenText(schedule));
      element.classList.toggle("is-paused", schedule.paused);
      showSummary(f, schedule);
    },
  };
}

function path() {
  const query = new URLSearchParams({ limit: PAGE, offset: view.offset, recent: STRIP });
  if (view.search) query.set("search", view.search);
  for (const [name, value] of Object.entries(SHOWN[view.show] ?? {})) query.set(name, value);
  return `api/schedules?${query}`;
}

function use(page) {
  total = page.total;
  if (!page.schedules.length && view.offset > 0) {
    // The last page has become empty.
    go({ offset: lastOffset() });
    return;
  }
  const filtered = Boolean(view.search || view.show);
  rows.update(page.schedules);
  show($("loading"), false);
  show($("schedules"), total > 0);
  show($("none"), total === 0 && !filtered);
  show($("no-match"), total === 0 && filtered);
  setText($("no-match-text"), noMatch());
  setText($("count"), `${plural(total, "schedule")}${filtered ? " found" : ""}`);
  showPager(page);
}

function noMatch() {
  const among = view.show ? ` among those shown as “${$("show").selectedOptions[0].text}”` : "";
  return view.search
    ? `No schedule${among} has “${view.search}” in its name or target.`
    : `There is no schedule${among}.`;
}

const lastOffset = () => Math.max(0, Math.floor((total - 1) / PAGE) * PAGE);

function showPager(page) {
  show($("pager"), total > PAGE);
  const first = page.offset + 1;
  const last = page.offset + page.schedules.length;
  const [from, to, all] = [first, last, total].map((number) => number.toLocaleString("en"));
  setText($("range"), `${from} to ${to} of ${all}`);
  for (const id of ["first", "previous"]) setAttribute($(id), "aria-disabled", page.offset === 0);
  for (const id of ["next", "last"]) setAttribute($(id), "aria-disabled", last >= total);
}

/** Change what is shown; the address keeps it, so that it can be gone back to and shared. */
function go(change, { remember = true } = {}) {
  Object.assign(view, change);
  const query = new URLSearchParams();
  if (view.search) query.set("search", view.search);
  if (view.show) query.set("show", view.show);
  if (view.offset) query.set("offset", view.offset);
  const address = `${location.pathname}${query.size ? `?${query}` : ""}`;
  history[remember ? "pushState" : "replaceState"](null, "", address);
  poller.now();
}

function turn(offset) {
  if (offset === view.offset || offset < 0 || offset >= total) return;
  go({ offset });
  $("schedules").scrollIntoView({ block: "nearest" });
}

function readAddress() {
  const query = new URLSearchParams(location.search);
  const offset = Number.parseInt(query.get("offset") ?? "0", 10);
  const chosen = query.get("show") ?? "";
  view.search = (query.get("search") ?? "").slice(0, 200);
  view.show = Object.hasOwn(SHOWN, chosen) ? chosen : "";
  view.offset = Number.isSafeInteger(offset) && offset > 0 ? offset - (offset % PAGE) : 0;
  $("search").value = view.search;
  $("show").value = view.show;
}

let typing = null;
$("search").addEventListener("input", () => {
  clearTimeout(typing);
  const search = $("search").value.trim();
  typing = setTimeout(() => go({ search, offset: 0 }, { remember: false }), 200);
});
$("filter").addEventListener("submit", (event) => event.preventDefault());
$("show").addEventListener("change", () => go({ show: $("show").value, offset: 0 }));
$("clear").addEventListener("click", () => {
  go({ search: "", show: "", offset: 0 });
  $("search").value = $("show").value = "";
  $("search").focus();
});
$("first").addEventListener("click", () => turn(0));
$("previous").addEventListener("click", () => turn(view.offset - PAGE));
$("next").addEventListener("click", () => turn(view.offset + PAGE));
$("last").addEventListener("click", () => turn(lastOffset()));
window.addEventListener("popstate", () => {
  readAddress();
  poller.now();
});
focusOnSlash($("search"));

readAddress();
start();

// The history of a schedule: a page of it, patched row by row.

import { $, copyOf, fieldsOf, Rows, setAttribute, setText, show } from "./dom.js";
import { at } from "./api.js";
import { label } from "./acts.js";
import { addCancel } from "./cancel.js";
import { addDetails } from "./details.js";
import { Poller } from "./poll.js";
import { showOutcome, showTime } from "./summary.js";
import { inZone, length } from "./times.js";
import { UNFINISHED, whyText } from "./words.js";

const PAGE = 25;
const view = { name: "", zone: null, filter: "", cursors: [null], open: null };
let following = null;
let rows = null;
let poller = null;

/** Show the history; `open` is the id of an occurrence whose details are shown at once. */
export function startHistory(name, zone, open) {
  Object.assign(view, { name, zone, open });
  rows = new Rows($("entries"), (entry) => entry.id ?? `${entry.cause}~${entry.scheduled_at}`, row);
  // A schedule that is gone is said by the page as a whole.
  poller = new Poller(path, use, { unknown: () => {} });
  poller.now();
}

function path() {
  const query = new URLSearchParams(view.filter);
  query.set("limit", PAGE);
  const cursor = view.cursors.at(-1);
  if (cursor !== null) query.set("cursor", cursor);
  return at("schedules", view.name, `/occurrences?${query}`);
}

function use(page) {
  following = page.next;
  rows.update(page.occurrences);
  const some = page.occurrences.length > 0;
  show($("history"), some);
  show($("no-history"), !some);
  setText($("no-history"), view.filter ? "Nothing of this kind." : "Nothing has happened yet.");
  const isFirst = view.cursors.length === 1;
  show($("pager"), !isFirst || following !== null);
  setAttribute($("newest"), "aria-disabled", isFirst);
  setAttribute($("newer"), "aria-disabled", isFirst);
  setAttribute($("older"), "aria-disabled", following === null);
  setText($("range"), `Page ${view.cursors.length}`);
}

function row(first) {
  const element = copyOf("entry");
  const f = fieldsOf(element);
  let entry = first;
  const made = { element, more: null, update };
  const details = addDetails(made, f.details, view);
  addCancel(f.cancel, f.said, () => entry.id);
  if (first.id !== null && first.id === view.open) {
    view.open = null;
    queueMicrotask(() => details.open(entry));
  }
  function update(next) {
    entry = next;
    fill(f, entry);
    details.update(entry);
  }
  return made;
}

function fill(f, entry) {
  showTime(f.at, f.offset, entry.scheduled_at, view.zone);
  if (entry.last_at !== entry.scheduled_at) {
    const last = inZone(entry.last_at, view.zone);
    setText(f.at, `${inZone(entry.scheduled_at, view.zone).local} to ${last.local}`);
    setText(f.offset, `${last.zone} ${last.offset}`);
  }
  show(f.manual, entry.manual);
  showOutcome(f.outcome, entry);
  setText(f.why, whyText(entry));
  setText(f.error, entry.error);
  setAttribute(f.error, "title", entry.error);
  const { started_at: started, ended_at: ended, fired_at: fired } = entry;
  setText(f.took, started !== null && ended !== null ? length(ended - started) : "");
  const late = fired === null ? 0 : fired - entry.scheduled_at;
  setText(f.late, late >= 1000 ? `Sent ${length(late)} late` : "");
  label(f.details, "Details", inZone(entry.scheduled_at, view.zone).local);
  show(f.cancel, UNFINISHED.includes(entry.state));
}

function turn(cursors) {
  view.cursors = cursors;
  poller.now();
}

$("outcome").addEventListener("change", () => {
  view.filter = $("outcome").value;
  turn([null]);
});
$("newest").addEventListener("click", () => turn([null]));
$("newer").addEventListener("click", () => {
  if (view.cursors.length > 1) turn(view.cursors.slice(0, -1));
});
$("older").addEventListener("click", () => {
  if (following !== null) turn([...view.cursors, following]);
});

// The details of one time: its facts, its attempts, and why it was not executed.

import { make, setAttribute } from "./dom.js";
import { at, get } from "./api.js";
import { flowerOf, runPageOf, showOutcome } from "./summary.js";
import { inZone, length } from "./times.js";

/** Let a button open and close the details of a row; they are a row that follows it. */
export function addDetails(row, button, view) {
  let shownFor = "";
  let cell = null;

  async function load(entry) {
    shownFor = JSON.stringify(entry);
    const wanted = shownFor;
    const parts = await partsOf(entry, view).catch((failure) => [
      make("p", { class: "error-text" }, failure.message),
    ]);
    if (wanted === shownFor) cell?.replaceChildren(...parts);
  }

  function open(entry) {
    cell = make("td", { colspan: 5, role: "cell" }, "Loading…");
    row.more = make("tr", { class: "more", role: "row" }, cell);
    row.element.after(row.more);
    setAttribute(button, "aria-expanded", "true");
    load(entry);
  }

  function close() {
    row.more.remove();
    row.more = cell = null;
    setAttribute(button, "aria-expanded", "false");
  }

  let current = null;
  button.addEventListener("click", () => (row.more ? close() : open(current)));
  return {
    open,
    update(entry) {
      current = entry;
      if (row.more && JSON.stringify(entry) !== shownFor) load(entry);
    },
  };
}

async function partsOf(entry, view) {
  if (entry.id === null) return [make("p", {}, await why(entry, view))];
  const { value } = await get(at("occurrences", entry.id));
  const parts = [make("dl", { class: "facts" }, ...facts(value, view.zone))];
  if (value.state === "NOT_EXECUTED") parts.unshift(make("p", {}, await why(entry, view)));
  if (value.error) parts.push(make("pre", { class: "error-box" }, value.error));
  if (value.attempts.length) parts.push(attemptsOf(value, view.zone));
  if (value.payload !== null) {
    parts.push(make("h3", {}, "Payload"), make("pre", { class: "payload" }, value.payload));
  }
  return parts;
}

async function why(entry, view) {
  const { value } = await get(at("schedules", view.name, `/why?at=${entry.scheduled_at}`));
  return value.text;
}

function facts(value, zone) {
  const time = (ms) => {
    if (ms === null) return null;
    const { local, offset } = inZone(ms, zone);
    return `${local} ${offset}`;
  };
  const address = value.kind === "job" ? flowerOf(value.id) : null;
  const run = value.kind === "flow" ? runPageOf(value.id) : null;
  const listed = {
    Id: value.id,
    Flower: address && make("a", { href: address }, "Task in Flower"),
    Run: run && make("a", { href: run }, "Tasks of this Run"),
    Task: value.task,
    Queue: value.queue,
    Worker: value.worker,
    Enqueued: time(value.fired_at),
    "Next attempt": value.wait === "retry" ? time(value.due_at) : null,
    Started: time(value.started_at),
    Ended: time(value.ended_at),
    Expires: time(value.expires_at),
  };
  return Object.entries(listed)
    .filter(([, fact]) => fact)
    .map(([key, fact]) => make("div", {}, make("dt", {}, key), make("dd", {}, fact)));
}

function attemptsOf(value, zone) {
  const items = value.attempts.map((attempt) => {
    const outcome = make("span", { class: "outcome" });
    showOutcome(outcome, attempt);
    const { started_at: started, ended_at: ended } = attempt;
    const took = started !== null && ended !== null ? `, took ${length(ended - started)}` : "";
    const when = started === null ? "" : inZone(started, zone).local;
    const where = attempt.worker ? ` on ${attempt.worker}` : "";
    const error = attempt.error ? make("span", { class: "error-text" }, attempt.error) : null;
    return make("li", {}, outcome, ` ${when}${took}${where} `, error);
  });
  const title = value.max_attempts ? `Attempts (of ${value.max_attempts})` : "Attempts";
  return make("div", {}, make("h3", {}, title), make("ol", { class: "attempts" }, ...items));
}

// What the list and the page of a schedule both show of it.

import { make, rebuild, setAttribute, setText, show } from "./dom.js";
import { at, now, send } from "./api.js";
import { acts, label } from "./acts.js";
import { showStrip } from "./strip.js";
import { countTo } from "./ticks.js";
import { asTold, clock, here, inZone, iso } from "./times.js";
import { missedText, stateOf } from "./words.js";

export const pageOf = (name) => `schedule?name=${encodeURIComponent(name)}`;

export const runPageOf = (id) => `run?id=${encodeURIComponent(id)}`;

/** Return the address of a task in Flower; null where there is no Flower. */
export function flowerOf(id) {
  const { flower } = document.body.dataset;
  return flower && id ? `${flower}/task/${encodeURIComponent(id)}` : null;
}

export function showOutcome(element, entry) {
  const { text, sign, tone } = stateOf(entry.state);
  rebuild(element, [text, sign, tone], () => [
    make("span", { class: `cell ${tone}`, "aria-hidden": "true" }, sign),
    text,
  ]);
}

export function showTime(element, zoneElement, ms, zone) {
  const told = inZone(ms, zone);
  setText(element, told.local);
  setAttribute(element, "datetime", iso(ms));
  setAttribute(element, "title", here(ms));
  setText(zoneElement, `${told.zone} ${told.offset}`);
}

/** Fill all fields of a schedule but its name. */
export function showSummary(f, schedule) {
  showBadges(f.badges, schedule);
  showNext(f, schedule);
  showLast(f, schedule);
  showStrip(f.strip, schedule.recent, schedule.time_zone);
  setText(f.missed, schedule.registered_at === null ? "" : missedText(schedule));
  label(f.run, "Run now", schedule.name);
  label(f.pause, schedule.paused ? "Resume" : "Pause", schedule.name);
}

function showBadges(element, schedule) {
  const badges = [];
  if (schedule.paused) badges.push(["Paused", "paused"]);
  if (schedule.unfinished > 1) badges.push([`${schedule.unfinished} unfinished`, "busy"]);
  if (schedule.form === "celery") badges.push(["Celery form", ""]);
  if (schedule.registered_at === null) badges.push(["Not registered", "paused"]);
  rebuild(element, badges, () =>
    badges.map(([text, tone]) => make("span", { class: `badge ${tone}` }, text)),
  );
}

/** Fill the fields of the next time, of a schedule or a repeat. */
export function showNext(f, schedule) {
  const { next_run_at: next, paused } = schedule;
  countTo(f.count, paused ? null : next);
  if (paused) {
    const since = schedule.paused_at && inZone(schedule.paused_at, schedule.time_zone).local;
    setText(f.count, since ? `Paused since\n${since.slice(4, -3)}` : "Paused");
  } else if (next === null) {
    const unseen = schedule.registered_at === null;
    const waits = schedule.waits_for_run ? "Waits for its run to end" : "None";
    setText(f.count, unseen ? "Waits for a beat to register it" : waits);
  }
  f.count.classList.toggle("is-paused", paused);
  show(f.next, next !== null);
  show(f["next-zone"], next !== null);
  if (next === null) return;
  // The server's own reading: its zone data decide when the schedule runs.
  setText(f.next, (paused ? "Not executed:\n" : "") + asTold(schedule.next_run_local));
  setAttribute(f.next, "datetime", iso(next));
  setAttribute(f.next, "title", here(next));
  setText(f["next-zone"], `${schedule.time_zone ?? "UTC"} ${schedule.utc_offset}`);
}

/** Fill the fields of the last execution, of a schedule or a repeat. */
export function showLast(f, schedule) {
  const ran = schedule.last_run_at !== null;
  const id = schedule.kind === "flow" ? null : schedule.last_job_id;
  if (ran && schedule.last_state) showOutcome(f.outcome, { state: schedule.last_state });
  else rebuild(f.outcome, ran, () => [ran ? "Executed" : "None yet"]);
  f.outcome.classList.toggle("is-none", !ran);
  show(f.last, ran);
  show(f["last-zone"], ran);
  if (ran) showTime(f.last, f["last-zone"], schedule.last_run_at, schedule.time_zone);
  const isRun = schedule.kind === "flow" && schedule.last_run_id !== null;
  const address = isRun ? runPageOf(schedule.last_run_id) : flowerOf(id);
  const text = isRun ? "Tasks of this Run" : "Task in Flower";
  show(f.flower, ran && address !== null);
  setAttribute(f.flower, "href", address);
  setText(f.flower, text);
  setAttribute(f.flower, "aria-label", `${text}: ${id ?? schedule.last_run_id}`);
  const error = schedule.last_error;
  setText(f.error, error ? `Not enqueued: ${error}` : "");
  setAttribute(f.error, "title", error);
  if (f.error.matches(".error-box")) show(f.error, Boolean(error));
}

/** Let the buttons of a schedule work; `current()` returns it as it is shown. */
export function addActions(f, current) {
  acts(f.run, f.said, async () => {
    const { name } = current();
    const { id } = await send(at("schedules", name, "/trigger"));
    const link = make("a", { href: `${pageOf(name)}&open=${encodeURIComponent(id)}` }, id);
    return [`Started at ${clock(now())}: `, link];
  });
  acts(f.pause, f.said, async () => {
    const { name, paused } = current();
    const after = await send(at("schedules", name, paused ? "/resume" : "/pause"));
    if (after.paused) return `Paused at ${clock(now())}. Jobs already enqueued go on.`;
    if (after.next_run_at === null) return `Resumed at ${clock(now())}.`;
    return `Resumed at ${clock(now())}. Next: ${asTold(after.next_run_local)} ${after.utc_offset}.`;
  });
}

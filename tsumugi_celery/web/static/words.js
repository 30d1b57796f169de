// The words for what became of a time. A state is never told by colour alone: it has a sign too.

import { length } from "./times.js";

export const STATES = {
  CLAIMED: { text: "Being sent", sign: "…", tone: "wait" },
  SCHEDULED: { text: "Waiting", sign: "…", tone: "wait" },
  QUEUED: { text: "Queued", sign: "…", tone: "wait" },
  RUNNING: { text: "Running", sign: "▸", tone: "busy" },
  COMPLETED: { text: "Completed", sign: "✓", tone: "good" },
  FAILED: { text: "Failed", sign: "✕", tone: "bad" },
  CANCELLED: { text: "Cancelled", sign: "○", tone: "off" },
  STALLED: { text: "Stalled", sign: "!", tone: "bad" },
  NOT_EXECUTED: { text: "Not executed", sign: "–", tone: "missed" },
};

const CAUSES = {
  overlap: "the previous execution was unfinished",
  delay: "an older missed time ran in its place",
  pause: "the schedule was paused",
  failure: "it could not be enqueued",
};

const WAITS = {
  slot: "other jobs go first: the limit of its key or binding is reached",
  binding: "its binding is paused",
  retry: "for its next attempt",
  broker: "the broker holds it until its time",
};

export const UNFINISHED = ["CLAIMED", "SCHEDULED", "QUEUED", "RUNNING"];

export const stateOf = (name) => STATES[name] ?? { text: name, sign: "?", tone: "off" };

/** Return the words for one of the last occurrences. */
export function outcomeText({ state, cause, count = 1 }) {
  const times = count > 1 ? `${count} times ` : "";
  const why = cause ? ` (${cause})` : "";
  return times ? `${times}${stateOf(state).text.toLowerCase()}${why}` : stateOf(state).text + why;
}

/** Return why an occurrence is as it is, as one sentence; "" where the state says it all. */
export function whyText(entry) {
  if (entry.state === "NOT_EXECUTED") {
    const times = entry.count > 1 ? `${entry.count} times in a row: ` : "";
    return sentence(times + (CAUSES[entry.cause] ?? entry.cause ?? "the cause is not known"));
  }
  if (entry.state === "SCHEDULED" && entry.wait) return sentence(`waits: ${WAITS[entry.wait]}`);
  if (entry.untracked) return "Its worker does not report; what became of it cannot be known.";
  if (entry.state === "QUEUED") return "Waits for a worker.";
  if (entry.state === "STALLED") return "Its worker vanished; it is not run a second time.";
  if (entry.attempt > 1 || (entry.max_attempts ?? 1) > 1) {
    return `Attempt ${entry.attempt}${entry.max_attempts ? ` of ${entry.max_attempts}` : ""}.`;
  }
  return "";
}

/** Return the times not executed by cause, such as "12 not executed: 10 overlap, 2 pause". */
export function missedText(schedule) {
  if (!schedule.skipped_count) return schedule.last_run_at ? "No time was left out" : "";
  const parts = Object.entries(schedule.not_executed)
    .filter(([, count]) => count)
    .map(([cause, count]) => `${count.toLocaleString("en")} ${cause}`);
  return `${schedule.skipped_count.toLocaleString("en")} not executed: ${parts.join(", ")}`;
}

/** Return when a schedule runs, such as "every 5 min" or "0 9 * * * (Asia/Tokyo)". */
export function whenText({ every_ms: every, schedule_text: text }) {
  if (every !== null) return `every ${length(every)}`;
  return text.replace(/^<crontab: (.*) \(m\/h\/dM\/MY\/d\)>$/, "crontab $1");
}

export const plural = (count, word) =>
  `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;

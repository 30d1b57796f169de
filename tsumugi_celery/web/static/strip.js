// The strip of the last occurrences: oldest on the left, a sign and a colour each.

import { make, rebuild, setAttribute } from "./dom.js";
import { inZone } from "./times.js";
import { outcomeText, stateOf } from "./words.js";

export function showStrip(element, recent, zone) {
  const told = recent.map(({ id, scheduled_at, count, state, cause }) => ({
    id,
    scheduled_at,
    count,
    state,
    cause,
  }));
  rebuild(element, told, (outcomes) => outcomes.map((each) => cell(each, zone)).reverse());
  setAttribute(element, "aria-label", summary(recent));
}

function cell(outcome, zone) {
  const { sign, tone } = stateOf(outcome.state);
  const time = inZone(outcome.scheduled_at, zone);
  const title = `${outcomeText(outcome)}, ${time.local} ${time.offset}`;
  const many = outcome.count > 1 ? " many" : "";
  return make("span", { class: `cell ${tone}${many}`, title }, sign);
}

/** Return what the strip shows as a text, for those who do not see it. */
function summary(recent) {
  if (!recent.length) return "No occurrences yet";
  const counts = new Map();
  for (const { state, cause, count } of recent) {
    const key = outcomeText({ state, cause });
    counts.set(key, (counts.get(key) ?? 0) + count);
  }
  const parts = [...counts].map(([key, count]) => `${count} ${key.toLowerCase()}`);
  return `The last occurrences: ${parts.join(", ")}. Newest: ${outcomeText(recent[0])}`;
}

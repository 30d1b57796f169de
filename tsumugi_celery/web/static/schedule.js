// The page of one schedule.

import { $, fieldsOf, make, rebuild, setText, show } from "./dom.js";
import { at } from "./api.js";
import { showComing } from "./coming.js";
import { startHistory } from "./history.js";
import { Poller } from "./poll.js";
import { start } from "./signin.js";
import { addActions, showSummary } from "./summary.js";
import { inZone, length } from "./times.js";
import { whenText } from "./words.js";

const STRIP = 50;
const query = new URLSearchParams(location.search);
const name = query.get("name") ?? "";
const f = fieldsOf($("schedule"));
let shown = null;

addActions(f, () => shown);

function use(schedule) {
  const isFirst = shown === null;
  shown = schedule;
  document.title = `${name} · Tsumugi`;
  setText(f.name, name);
  show($("loading"), false);
  show($("unknown"), false);
  show($("schedule"));
  showSummary(f, schedule);
  showFacts(schedule);
  if (isFirst) startHistory(name, schedule.time_zone, query.get("open"));
  showComing(schedule);
}

function unknown(failure) {
  show($("loading"), false);
  show($("schedule"), false);
  show($("unknown"));
  setText($("unknown-text"), failure.message);
}

function showFacts(schedule) {
  const facts = {
    When: whenText(schedule),
    "Time zone": schedule.time_zone ?? "None: an interval runs by the clock of no zone (UTC shown)",
    [schedule.kind === "flow" ? "Flow" : "Binding"]: schedule.target,
    Overlap:
      schedule.overlap === "skip"
        ? "Skip: not executed while the previous execution is unfinished"
        : "Overlap: executed even while the previous execution is unfinished",
    Unfinished: String(schedule.unfinished),
    "Not executed": counts(schedule),
    Enqueued: fired(schedule),
    Registered: moment(schedule.registered_at),
  };
  rebuild($("facts"), facts, () =>
    Object.entries(facts)
      .filter(([, value]) => value)
      .map(([key, value]) => make("div", {}, make("dt", {}, key), make("dd", {}, value))),
  );
}

const counts = ({ not_executed: by }) =>
  Object.entries(by)
    .map(([cause, count]) => `${cause} ${count.toLocaleString("en")}`)
    .join(", ");

function moment(ms) {
  if (ms === null) return null;
  const { local, offset } = inZone(ms, shown.time_zone);
  return `${local} ${offset}`;
}

function fired(schedule) {
  if (schedule.last_fired_at === null) return null;
  const late = schedule.last_fired_at - schedule.last_run_at;
  return `The last one ${late >= 0 ? `${length(late)} after its time` : "before its time"}`;
}

new Poller(() => `${at("schedules", name)}?recent=${STRIP}`, use, { unknown });
start();

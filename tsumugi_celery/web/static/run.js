// The page of one Run.

import { $, fieldsOf, make, rebuild, setAttribute, setText, show } from "./dom.js";
import { at } from "./api.js";
import { addCancel } from "./cancel.js";
import { Poller } from "./poll.js";
import { start } from "./signin.js";
import { pageOf, showOutcome } from "./summary.js";
import { inZone, length } from "./times.js";
import { showTree } from "./tree.js";
import { UNFINISHED } from "./words.js";

const id = new URLSearchParams(location.search).get("id") ?? "";
const f = fieldsOf($("run"));

addCancel(f.cancel, f.said, () => id);

function use(run) {
  document.title = `${id} · Tsumugi`;
  show($("loading"), false);
  show($("unknown"), false);
  show($("run"));
  setText(f.id, id);
  setText($("schedule-link"), run.schedule);
  setAttribute($("schedule-link"), "href", pageOf(run.schedule));
  showOutcome(f.outcome, run);
  show(f.cancel, UNFINISHED.includes(run.state));
  setAttribute($("progress"), "max", Math.max(1, run.known));
  $("progress").value = run.ended;
  setText($("progress-text"), `${run.ended} of ${run.known} known tasks ended`);
  setText(f.error, run.error);
  show(f.error, Boolean(run.error));
  showFacts(run);
  showTree(run.tasks);
}

function showFacts(run) {
  const time = (ms) => {
    if (ms === null) return null;
    const { local, offset } = inZone(ms, "UTC");
    return `${local} ${offset}`;
  };
  const ended = run.ended_at !== null && run.started_at !== null;
  const facts = {
    Flow: run.target,
    [run.manual ? "Run by hand" : "Scheduled time"]: time(run.scheduled_at),
    Started: time(run.started_at),
    Ended: time(run.ended_at),
    Took: ended ? length(run.ended_at - run.started_at) : null,
    Deadline: time(run.deadline_at),
  };
  rebuild($("facts"), facts, () =>
    Object.entries(facts)
      .filter(([, value]) => value)
      .map(([key, value]) => make("div", {}, make("dt", {}, key), make("dd", {}, value))),
  );
}

function unknown(failure) {
  show($("loading"), false);
  show($("run"), false);
  show($("unknown"));
  setText($("unknown-text"), failure.message);
}

new Poller(() => at("runs", id), use, { unknown });
start();

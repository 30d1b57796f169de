// The coming times of a schedule, those that daylight saving drops or repeats among them.

import { $, make, rebuild, setText, show } from "./dom.js";
import { at, get } from "./api.js";
import { asTold } from "./times.js";

const MOST = 500;
const MARKS = {
  skipped: ["Does not exist", "The clocks go forward over it: it does not run."],
  repeated: ["Second pass", "The clocks go back: it comes twice, and runs the first time only."],
};
let wanted = 10;
let asked = "";
let current = null;

/** Show the times anew where they may have changed. */
export async function showComing(schedule) {
  const key = JSON.stringify([wanted, schedule.next_run_at, schedule.paused, schedule.schedule_text]);
  current = schedule;
  if (key === asked) return;
  asked = key;
  try {
    const path = at("schedules", schedule.name, `/upcoming?count=${wanted}`);
    const { value } = await get(path);
    if (key === asked) list(value.upcoming, schedule.paused);
  } catch (failure) {
    asked = "";
    none(failure.message);
  }
}

function list(times, paused) {
  rebuild($("coming"), [times, paused], () => times.map(item));
  show($("coming"));
  $("coming").classList.toggle("is-paused", paused);
  show($("no-coming"), !times.length || paused);
  setText(
    $("no-coming"),
    paused ? "Paused: none of these is executed before it is resumed." : "No times to come.",
  );
  show($("more-coming"), times.length >= wanted && wanted < MOST);
}

function none(message) {
  show($("coming"), false);
  show($("more-coming"), false);
  show($("no-coming"));
  setText($("no-coming"), message);
}

function item({ at: ms, local, utc_offset: offset, status }) {
  const mark = MARKS[status];
  const parts = [
    make("time", { datetime: new Date(ms).toISOString(), class: "clock" }, asTold(local)),
    " ",
    make("span", { class: "minor" }, status === "skipped" ? "" : offset),
  ];
  if (mark) {
    parts.push(" ", make("span", { class: "badge paused" }, mark[0]), " ");
    parts.push(make("span", { class: "minor" }, mark[1]));
  }
  return make("li", { class: status }, ...parts);
}

$("more-coming").addEventListener("click", () => {
  wanted = Math.min(MOST, wanted * 3);
  showComing(current);
});

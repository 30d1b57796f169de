// The page with the bindings.

import { $, copyOf, fieldsOf, make, rebuild, Rows, setText, show } from "./dom.js";
import { at, now, send } from "./api.js";
import { acts, label } from "./acts.js";
import { Poller } from "./poll.js";
import { start } from "./signin.js";
import { clock, inZone } from "./times.js";
import { plural } from "./words.js";

const rows = new Rows($("rows"), (binding) => binding.name, createRow);

function createRow(first) {
  const element = copyOf("row");
  const f = fieldsOf(element);
  let shown = first;
  setText(f.name, first.name);
  acts(f.pause, f.said, async () => {
    const step = shown.paused ? "/resume" : "/pause";
    const after = await send(at("bindings", shown.name, step));
    return after.paused
      ? `Paused at ${clock(now())}. Its jobs wait; running ones finish.`
      : `Resumed at ${clock(now())}. A beat sends what waited.`;
  });
  return {
    element,
    update(binding) {
      shown = binding;
      const since = binding.paused_at && inZone(binding.paused_at, "UTC").local;
      rebuild(f.badges, [binding.paused, since], () =>
        binding.paused
          ? [make("span", { class: "badge paused", title: `Since ${since} UTC` }, "Paused")]
          : [],
      );
      element.classList.toggle("is-paused", binding.paused);
      setText(f.task, binding.task === binding.name ? "" : binding.task);
      setText(f.queue, queueText(binding));
      setText(f.limits, limitsText(binding));
      setText(f.jobs, `${binding.unfinished} unfinished, ${binding.waiting} held back`);
      label(f.pause, binding.paused ? "Resume" : "Pause", binding.name);
    },
  };
}

function queueText({ queue, shards }) {
  const name = queue ?? "As Celery routes it";
  return shards > 1 ? `${name}, in ${shards} shards` : name;
}

function limitsText({ concurrency, per_key_concurrency: perKey }) {
  return `${perKey} per key${concurrency === null ? "" : `, ${concurrency} in all`}`;
}

new Poller(
  () => "api/bindings",
  ({ bindings }) => {
    rows.update(bindings);
    show($("loading"), false);
    show($("bindings"), bindings.length > 0);
    show($("none"), !bindings.length);
    setText($("count"), plural(bindings.length, "binding"));
  },
);
start();

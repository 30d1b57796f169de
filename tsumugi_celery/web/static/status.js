// What holds for the whole page: the banner, the mark "Live", and what is read out.

import { $, setAttribute, setText, show } from "./dom.js";
import { now } from "./api.js";
import { clock, length } from "./times.js";

const TITLES = {
  gone: "The server does not answer.",
  away: "The ledger does not answer.",
  fault: "The server failed.",
  refused: "The server refused.",
};
let seenAt = null;
let retryAt = null;
let down = false;

/** Have a text read out by screen readers. */
export const say = (text) => setText($("said"), text);

/** An answer came: all is well. */
export function works() {
  seenAt = now();
  mark("live", "Live");
  if (!down) return;
  down = false;
  show($("banner"), false);
  say("Connected again. What you see is up to date.");
}

/** No answer, or a bad one; what is on the page stays and is said to be old. */
export function fails(failure, nextTry) {
  retryAt = nextTry;
  mark("down", "Not connected");
  setText($("banner-title"), TITLES[failure.kind] ?? "Something went wrong.");
  setText($("banner-text"), failure.kind === "gone" ? "" : failure.message);
  down = true;
  tellWhen();
  show($("banner"));
}

/** While the page is hidden, nothing is asked. */
export const rests = () => mark("waiting", "Paused");

function mark(state, text) {
  setAttribute($("live"), "data-state", state);
  setText($("live-text"), text);
}

function tellWhen() {
  const old = seenAt ? `What you see is from ${clock(seenAt)}. ` : "";
  const left = Math.max(0, retryAt - now());
  setText($("banner-when"), `${old}Trying again ${left < 1000 ? "now" : `in ${length(left)}`}.`);
}

setInterval(() => {
  if (down) tellWhen();
}, 1000);

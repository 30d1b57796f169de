// Countdowns: one timer for all of them, on the second.

import { setText } from "./dom.js";
import { countdown } from "./times.js";

/** Let an element count down to a moment; null lets it be. */
export function countTo(element, ms) {
  if (ms === null) {
    delete element.dataset.countTo;
    return;
  }
  element.dataset.countTo = ms;
  setText(element, countdown(ms));
}

function tick() {
  for (const element of document.querySelectorAll("[data-count-to]")) {
    setText(element, countdown(Number(element.dataset.countTo)));
  }
  setTimeout(tick, 1000 - (Date.now() % 1000));
}

tick();

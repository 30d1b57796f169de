// Keys that do something without a button in focus.

import { $ } from "./dom.js";

/** Let `/` go to a field from anywhere on the page. */
export function focusOnSlash(field) {
  document.addEventListener("keydown", (event) => {
    const busy = event.target.closest("input, select, textarea") || $("content").hidden;
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || busy) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

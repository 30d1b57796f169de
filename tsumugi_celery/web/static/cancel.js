// Cancelling ends work for good: the button takes a second press.

import { setText } from "./dom.js";
import { at, now, send } from "./api.js";
import { acts, label } from "./acts.js";
import { clock } from "./times.js";

const ARMED = 6000;

async function cancelOccurrence(id) {
  const after = await send(at("occurrences", id, "/cancel"));
  if (after.state === "CANCELLED") return `Cancelled at ${clock(now())}.`;
  return "Its worker was told, but cannot break it off: it runs on.";
}

/**
 * Let a button cancel the occurrence whose id `id()` returns, or what else `cancel(id)` cancels,
 * which returns what to say.
 */
export function addCancel(button, said, id, cancel = cancelOccurrence) {
  let timer = null;
  const arm = (armed) => {
    button.classList.toggle("danger", armed);
    label(button, armed ? "Really cancel?" : "Cancel", id());
  };
  button.addEventListener("click", (event) => {
    clearTimeout(timer);
    if (button.classList.contains("danger")) return;
    event.stopImmediatePropagation();
    arm(true);
    setText(said, "Press again to cancel it.");
    timer = setTimeout(() => {
      arm(false);
      setText(said, "");
    }, ARMED);
  });
  acts(button, said, async () => {
    arm(false);
    return cancel(id());
  });
  arm(false);
}

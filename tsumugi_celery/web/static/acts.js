// Buttons that change something: what happened is said beside them, and read out.

import { setAttribute, setText } from "./dom.js";
import { askToSignIn } from "./signin.js";
import { refresh } from "./poll.js";

/**
 * Let a button do `work()`, which returns what to say: a text or elements. The button is not
 * disabled meanwhile, as that would take the focus from it; a second press is ignored.
 */
export function acts(button, said, work) {
  button.addEventListener("click", async () => {
    if (button.getAttribute("aria-busy") === "true") return;
    setAttribute(button, "aria-busy", "true");
    tell(said, "", ["Working…"]);
    try {
      tell(said, "good", [await work()].flat());
    } catch (failure) {
      tell(said, "bad", [failure.message]);
      if (failure.kind === "unauthorised") askToSignIn();
      // A mistake of this page: the browser's console has where.
      else if (!failure.kind) throw failure;
    } finally {
      setAttribute(button, "aria-busy", null);
      await refresh();
    }
  });
}

/** Name a button for those who hear it without what stands around it. */
export function label(button, text, name) {
  setText(button, text);
  setAttribute(button, "aria-label", `${text}: ${name}`);
}

function tell(said, tone, parts) {
  said.dataset.tone = tone;
  said.replaceChildren(...parts);
}

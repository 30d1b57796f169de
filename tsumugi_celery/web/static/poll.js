// Asking again and again: with the ETag of the last answer, not while the page is hidden, and
// less often while nobody answers.

import { $ } from "./dom.js";
import { get, now } from "./api.js";
import { askToSignIn, onSignIn } from "./signin.js";
import { fails, rests, works } from "./status.js";

const EVERY = 2000;
const LONGEST = 30_000;
// A server that needs long for an answer is asked less often: this many times as long.
const SPARE = 10;
const pollers = new Set();

export class Poller {
  /**
   * `path()` is asked, and `use(value)` is called with what has changed. `unknown(failure)` is
   * called where there is nothing at the address; without it that is a failure as any other.
   */
  constructor(path, use, { unknown = null, every = EVERY } = {}) {
    Object.assign(this, { path, use, unknown, every, etag: null, asked: null, failures: 0 });
    pollers.add(this);
  }

  /** Ask at once, then from time to time. */
  async now() {
    clearTimeout(this.timer);
    const turn = Symbol("turn");
    this.turn = turn;
    const path = this.path();
    const etag = path === this.asked ? this.etag : null;
    const began = performance.now();
    try {
      const answer = await get(path, etag);
      // The page has been asked for something else meanwhile.
      if (this.turn !== turn) return;
      Object.assign(this, { asked: path, etag: answer.etag, failures: 0 });
      works();
      if (!answer.unchanged) this.use(answer.value);
    } catch (failure) {
      if (this.turn !== turn) return;
      if (!this.#failed(failure)) return;
    }
    this.#later(Math.max(this.#wait(), this.failures ? 0 : (performance.now() - began) * SPARE));
  }

  stop() {
    clearTimeout(this.timer);
    this.turn = null;
    pollers.delete(this);
  }

  /** Return whether to ask again by itself. */
  #failed(failure) {
    this.etag = null;
    if (failure.kind === "unauthorised") {
      askToSignIn();
      return false;
    }
    if (failure.kind === "unknown" && this.unknown) {
      works();
      this.unknown(failure);
      return true;
    }
    this.failures += 1;
    // A mistake of this page must not look like one of the server.
    if (!failure.kind) console.error(failure);
    fails(failure, now() + this.#wait());
    return true;
  }

  #wait() {
    return Math.min(LONGEST, this.every * 2 ** Math.min(this.failures, 5));
  }

  #later(wait) {
    if (document.hidden) rests();
    else this.timer = setTimeout(() => this.now(), wait);
  }
}

/** Ask all at once: after a change, or when someone asks for it. */
export const refresh = () => Promise.all([...pollers].map((each) => each.now()));

$("banner-retry").addEventListener("click", refresh);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
window.addEventListener("online", refresh);
onSignIn(refresh);

// The page with repeats: the collections, or what is set in one of them.

import { $, copyOf, fieldsOf, make, rebuild, Rows, setAttribute, setText, show } from "./dom.js";
import { Poller } from "./poll.js";
import { showRepeats } from "./collection.js";
import { start } from "./signin.js";
import { plural } from "./words.js";

const chosen = new URLSearchParams(location.search).get("collection");

function createRow({ name }) {
  const element = copyOf("collection");
  const f = fieldsOf(element);
  setText(f.name, name);
  setAttribute(f.name, "href", `repeats?collection=${encodeURIComponent(name)}`);
  return {
    element,
    update({ target, defined_here: here }) {
      setText(f.target, target);
      rebuild(f.badges, here, () =>
        here ? [] : [make("span", { class: "badge paused" }, "Not made by this code")],
      );
    },
  };
}

function showCollections() {
  const rows = new Rows($("collection-rows"), (collection) => collection.name, createRow);
  new Poller(
    () => "api/repeats",
    ({ collections }) => {
      rows.update(collections);
      show($("loading"), false);
      show($("collections"), collections.length > 0);
      show($("no-collections"), !collections.length);
      setText($("count"), plural(collections.length, "collection"));
    },
  );
}

if (chosen === null) showCollections();
else showRepeats(chosen);
start();

// The tree of a Run: a list, so that it can be read in order, with its lines drawn as SVG.

import { $, copyOf, fieldsOf, rebuild, Rows, setAttribute, setText, show } from "./dom.js";
import { flowerOf, showOutcome } from "./summary.js";
import { length } from "./times.js";
import { stateOf } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";
const STEP = 22;
const MIDDLE = 18;
const MOST = 1000;
const ROLES = {
  header: "header",
  body: "runs after the header",
  link: "callback",
  extra: "sent while the Run went on",
};

const rows = new Rows($("tree"), (node) => node.key, createNode);

export function showTree(tops) {
  const nodes = [...flat(tops, "", [])];
  rows.update(nodes.slice(0, MOST));
  show($("no-tasks"), !nodes.length);
  show($("too-many"), nodes.length > MOST);
  setText($("too-many"), `and ${nodes.length - MOST} more`);
}

/** Yield the nodes from top to bottom; `open` says which lines of those above go on. */
function* flat(branches, path, open) {
  for (const [index, branch] of branches.entries()) {
    const isLast = index === branches.length - 1;
    const key = `${path}/${index}`;
    yield { key, branch, open, isLast, depth: open.length };
    yield* flat(branch.children, key, [...open, !isLast]);
  }
}

function createNode() {
  const element = copyOf("node");
  const f = fieldsOf(element);
  return {
    element,
    update(node) {
      const { branch } = node;
      const isTask = branch.shape === "task";
      const { tone } = stateOf(branch.state);
      const lines = [node.open, node.isLast, isTask ? tone : "", branch.children.length > 0];
      rebuild(f.lines, lines, () => [draw(node, isTask ? tone : null)]);
      element.style.paddingLeft = `${(node.depth + 1) * STEP + 6}px`;
      setText(f.name, isTask ? branch.name : branch.shape);
      setText(f.role, ROLES[branch.role]);
      show(f.outcome, isTask);
      if (isTask) showOutcome(f.outcome, branch.state ? branch : { state: "SCHEDULED" });
      setText(f.facts, factsOf(branch));
      const address = flowerOf(branch.task_id);
      show(f.flower, address !== null && branch.queued_at !== null);
      setAttribute(f.flower, "href", address);
      setText(f.error, branch.error);
    },
  };
}

function factsOf({ shape, children, started_at: started, ended_at: ended, worker, retries }) {
  if (shape !== "task") return `of ${children.length}`;
  const took = started !== null && ended !== null ? `took ${length(ended - started)}` : null;
  const tried = retries ? `tried again ${retries}×` : null;
  return [took, worker, tried].filter(Boolean).join(", ");
}

function draw({ open, isLast, depth, branch }, tone) {
  const svg = shape("svg", { class: "gutter", width: (depth + 1) * STEP, "aria-hidden": "true" });
  const x = (level) => level * STEP + STEP / 2;
  // The lines of the ancestors that have more to come, then the one to this node.
  for (let level = 1; level < depth; level += 1) {
    if (open[level]) svg.append(line(x(level - 1), 0, x(level - 1), "100%"));
  }
  if (depth > 0) {
    svg.append(line(x(depth - 1), 0, x(depth - 1), isLast ? MIDDLE : "100%"));
    svg.append(line(x(depth - 1), MIDDLE, x(depth), MIDDLE));
  }
  if (branch.children.length) svg.append(line(x(depth), MIDDLE, x(depth), "100%"));
  const place = { class: `dot ${tone ?? "off"}` };
  svg.append(
    tone === null
      ? shape("rect", { ...place, x: x(depth) - 5, y: MIDDLE - 5, width: 10, height: 10, rx: 2 })
      : shape("circle", { ...place, cx: x(depth), cy: MIDDLE, r: 6 }),
  );
  return svg;
}

const line = (x1, y1, x2, y2) => shape("line", { x1, y1, x2, y2 });

function shape(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

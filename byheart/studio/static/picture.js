// A picture of the command line inside the page: built again element by element, from a short list
// of what a drawing needs, so that the page's own style reaches it and nothing else comes in.

import { region } from "./dom.js";
import { picture as fetchPicture } from "./server.js";

const SPACE = "http://www.w3.org/2000/svg";
const TAGS = new Set(["svg", "g", "path", "use", "defs", "clipPath", "rect", "line", "circle", "polygon", "polyline"]);
const PLAIN = new Set(["d", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "viewBox", "points", "transform"]);
const STYLES = new Set(["fill", "stroke", "opacity", "fill-opacity", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-dashoffset", "stroke-linejoin", "stroke-linecap", "stroke-miterlimit", "fill-rule", "clip-rule"]);
const THEMED = { "#1f2933": "ink", "#667280": "pale", "#d5dae0": "faint" };
let count = 0;

function copy(source, prefix) {
  if (!TAGS.has(source.localName)) return null;
  const made = document.createElementNS(SPACE, source.localName);
  for (const { localName, value } of source.attributes) {
    if (PLAIN.has(localName)) made.setAttribute(localName, value);
    else if (localName === "id") named(made, value, prefix);
    else if (localName === "href" && value.startsWith("#")) made.setAttribute("href", `#${prefix}${value.slice(1)}`);
    else if (localName === "clip-path" && /^url\(#[\w-]+\)$/.test(value)) made.setAttribute("clip-path", `url(#${prefix}${value.slice(5, -1)})`);
    else if (localName === "data-style") styled(made, value);
  }
  for (const child of source.children) {
    const one = copy(child, prefix);
    if (one) made.append(one);
  }
  return made;
}

function named(made, id, prefix) {
  made.id = prefix + id;
  const stage = /^stage-(\d+)-([a-z]+)/.exec(id);
  if (stage) {
    made.dataset.stage = stage[1];
    made.dataset.part = stage[2];
  }
}

function styled(made, text) {
  for (const one of text.split(";")) {
    const [name, value] = one.split(":").map((x) => x.trim());
    if (!STYLES.has(name) || !value || /url/i.test(value)) continue;
    const paper = made.localName === "path" && value.toLowerCase() === "#ffffff"; // letters are not paths of their own
    const theme = paper ? "paper" : THEMED[value.toLowerCase()];
    if (theme && (name === "fill" || name === "stroke")) made.classList.add(`${name}-${theme}`);
    else made.setAttribute(name, value);
  }
}

// A drawing by its job and name; label says in words what it shows.
async function drawing(job, name, label) {
  // a style attribute is refused by the page's policy, even while it is only parsed
  const text = (await fetchPicture(job, name)).replaceAll(' style="', ' data-style="').replace(/<style[^]*?<\/style>/g, "");
  const source = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const prefix = `p${++count}-`;
  const made = copy(source, prefix);
  made.removeAttribute("width");
  made.removeAttribute("height");
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", label);
  made.classList.add("drawing");
  made.querySelector(`#${prefix}patch_1 > path`)?.remove(); // the page has a colour of its own
  return made;
}

// The same in a frame, which has a title; `then` gets the drawing once it is there.
export function framed(job, name, title, label, then = () => {}) {
  const frame = region("picture", title);
  drawing(job, name, label).then((made) => {
    frame.replaceChildren(made);
    then(made);
  });
  return frame;
}

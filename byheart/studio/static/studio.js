// The page: one screen at a time, all fed by the state that the server tells.

import { admit, follow } from "./server.js";
import { drop } from "./drop.js";
import { compile } from "./compile.js";
import { ask } from "./ask.js";
import { compare } from "./compare.js";
import { edit } from "./edit.js";
import { audit } from "./audit.js";

const SCREENS = { drop, compile, ask, compare, edit, audit };
const updates = {};
let state = null;

admit();

export function go(name) {
  location.hash = name;
}

function current() {
  const name = location.hash.slice(1);
  return name in SCREENS ? name : "drop";
}

function show() {
  const name = current();
  for (const other of Object.keys(SCREENS)) {
    document.getElementById(`screen-${other}`).hidden = other !== name;
    const link = document.querySelector(`nav a[href="#${other}"]`);
    if (other === name) {
      link.setAttribute("aria-current", "page");
      link.parentElement.scrollLeft = link.offsetLeft - 40; // of a narrow page
    } else link.removeAttribute("aria-current");
  }
  document.title = `${document.querySelector(`#screen-${name} h1`).textContent} - byheart studio`;
  if (state) updates[name](state);
}

for (const [name, screen] of Object.entries(SCREENS)) {
  updates[name] = screen(document.getElementById(`screen-${name}`), go);
}
addEventListener("hashchange", () => {
  if (admit()) return location.reload();
  show();
  document.getElementById("main").focus({ preventScroll: true });
  scrollTo(0, 0);
});
show();
follow(
  (told) => {
    state = told;
    document.body.dataset.version = told.version;
    updates[current()](state);
  },
  (why) => {
    for (const name of ["lost", "refused"]) document.getElementById(name).hidden = name !== why;
  },
);

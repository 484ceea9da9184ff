// Elements, without a line of HTML: whatever a file says is text and nothing else.

import { answer, save, stop } from "./server.js";

const present = (x) => x !== null && x !== undefined && x !== false;

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (!present(value)) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(3).filter(present).map(node));
  return element;
}

const node = (x) => (x instanceof Node ? x : document.createTextNode(String(x)));

// Fills a place again only if what it shows has changed, so that nobody loses the focus.
export function fill(place, key, build) {
  const text = JSON.stringify(key) ?? "";
  if (place.filled === text) return;
  place.filled = text;
  place.replaceChildren(...[build()].flat(4).filter(present).map(node));
}

export function number(x) {
  if (x === null || x === undefined) return "-";
  if (typeof x !== "number") return String(x);
  if (Number.isInteger(x)) return x.toLocaleString("en-US");
  if (Math.abs(x) >= 1000) return Math.round(x).toLocaleString("en-US");
  return String(Number(x.toPrecision(4)));
}

export const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

// A token, a label or an input as a person would write it.
export function shown(value) {
  if (Array.isArray(value)) {
    const words = value.every((x) => typeof x === "string");
    if (!words) return JSON.stringify(value);
    if (value.some((x) => /^\s/.test(x))) return value.join("");
    return value.some((x) => /\s/.test(x)) ? JSON.stringify(value) : value.join(" ");
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}

// Name, value and remark, as the command line prints them.
export function lines(rows) {
  return h("table", { class: "lines" }, h("tbody", {}, rows.map(([name, value, remark]) =>
    h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number" }, value), h("td", { class: "remark" }, remark)))));
}

// A table with a head; columns of numbers are those that `numbers` says.
export function table(heads, numbers, body) {
  const head = heads.map((x, i) => h("th", { scope: "col", class: numbers(i) ? "number" : null }, x));
  return h("table", { class: "rows" }, h("thead", {}, h("tr", {}, head)), body);
}

// Names with the reason why they are left out, folded away.
export function leftOut(noun, rows) {
  if (!rows.length) return null;
  const line = ([name, reason]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "remark" }, reason));
  return h("details", { class: "card" }, h("summary", {}, `${plural(rows.length, noun)} that ${rows.length === 1 ? "does" : "do"} not apply`), h("table", { class: "lines" }, h("tbody", {}, rows.map(line))));
}

// A part of the page that scrolls by itself.
export function region(kind, label, ...children) {
  return h("div", { class: `scroll ${kind}`, tabindex: "0", role: "region", "aria-label": label }, children);
}

export const option = ([value, name]) => h("option", { value }, name);
export const evidence = (word) => h("span", { class: word ? `evidence ${word}` : "remark" }, word || "-");
export const problem = (sentence) => h("p", { class: "problem", role: "alert" }, sentence);
export const note = (sentence) => h("p", { class: "note" }, sentence);
export const lead = (...words) => h("p", { class: "lead" }, words);
export const remark = (...words) => h("p", { class: "remark" }, words);

// The verdict of a model, in a frame.
export function stamped(word, ...children) {
  return h("section", { class: `card verdict ${word}` }, h("p", { class: "stamp" }, word === "proved" ? "PROVED" : word), children);
}

export function download(address, name) {
  const said = h("span", { "aria-live": "polite" });
  return h("span", {}, h("button", { type: "button", class: "quiet", onclick: () => attempt(said, () => save(address)) }, name), said);
}

// Do something; a refusal is shown in the place `said`.
export async function attempt(said, action) {
  said.replaceChildren();
  try {
    await action();
  } catch (error) {
    said.replaceChildren(problem(error.message));
  }
}

// What every screen has: a sentence about it, a place for refusals, the progress and the result.
export function layout(root, sentence, ...parts) {
  const said = h("div", { "aria-live": "polite" });
  const progress = new Progress();
  const result = h("div");
  root.append(...[lead(sentence), parts, said, progress.element, result].flat());
  return { said, progress, result };
}

// What became of a job: how it ended, or its answer as `build` shows it.
export function outcome(place, job, build, ...key) {
  fill(place, [job?.id, job?.status, key], () => {
    const content = h("div");
    if (job?.status === "done") answer(job.id).then((found) => content.replaceChildren(...build(found, job).filter(present)));
    return [ending(job), content];
  });
}

// A job while it waits or runs: what it does, how far it is, and a button that stops it.
export class Progress {
  constructor() {
    this.words = h("span", { "aria-live": "polite" });
    this.bar = h("progress", { "aria-label": "Progress" });
    this.more = h("span", { class: "remark" });
    this.button = h("button", { type: "button", class: "quiet", onclick: () => stop(this.job.id) }, "Stop");
    this.element = h("div", { class: "progress", hidden: true }, this.words, this.bar, this.button, this.more);
  }
  update(job) {
    this.job = job;
    const on = job && (job.status === "running" || job.status === "waiting");
    this.element.hidden = !on;
    if (!on) return;
    const words = job.status === "waiting" ? "waiting for other work" : job.stage || "starting";
    if (this.words.textContent !== words) this.words.textContent = words;
    if (job.total) {
      this.bar.max = job.total;
      this.bar.value = Math.min(job.done, job.total);
    } else this.bar.removeAttribute("value");
    this.more.textContent = job.stage === "building" && job.note ? "still looking for weights that fit" : job.note || "";
  }
}

// How a job ended, if it did not end well.
export function ending(job) {
  if (job?.status === "failed") return problem(job.error);
  return job?.status === "stopped" ? note("Stopped. Nothing was kept of it.") : null;
}

export function field(label, control, help) {
  const id = control.id || `field-${(field.count = (field.count || 0) + 1)}`;
  control.id = id;
  if (help) control.setAttribute("aria-describedby", `${id}-help`);
  return h("div", { class: "field" }, h("label", { for: id }, label), control, help ? h("small", { id: `${id}-help` }, help) : null);
}

export function checkbox(label, checked, help) {
  const input = h("input", { type: "checkbox", checked });
  const element = h("label", { class: "check" }, input, h("span", {}, label, help ? h("small", {}, help) : null));
  return { input, element };
}

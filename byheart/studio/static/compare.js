// Compare: all methods and bounds, sortable, and how they grow with the number of contexts.

import { evidence, field, fill, h, layout, leftOut, note, number, outcome, plural, region, remark, table } from "./dom.js";
import { comparison } from "./compile.js";
import { framed } from "./picture.js";

const SIGNS = { at_least: "≥ ", at_most: "≤ " };
const COLUMNS = [["title", "method or bound"], ["parameters", "parameters"], ["bits", "bits"], ["units", "units"], ["depth", "depth"], ["evidence", "evidence"]];

export function compare(root) {
  const { progress, result } = layout(root, "Every construction and every bound for your data, side by side. Point at a row, or focus it, to read its theorem.");
  return (state) => {
    const job = comparison(state);
    progress.update(job);
    const models = state.models.filter((x) => !x.given && x.bits && x.data === state.data?.name);
    if (!state.data) fill(result, [], () => note("Choose a file on the first screen."));
    else outcome(result, job, (found) => compared(found, job, models), models.map((x) => x.id));
  };
}

function compared(found, job, models) {
  const own = models.map((x) => ({ title: `${x.name}, compiled here`, kind: "yours", parameters: x.parameters, bits: x.bits, units: null, depth: null, evidence: x.evidence, applies: true, reason: "A model of this page." }));
  const again = (x) => own.some((y) => y.parameters === x.parameters && y.title.startsWith(x.name));
  const rows = [...own, ...found.rows.filter((x) => x.applies && !again(x) && (x.parameters !== null || x.bits !== null))];
  return [
    h("h2", {}, `${found.dataset.name}: ${plural(found.dataset.sequences, "sequence")}, ${plural(found.dataset.contexts, "context")}, ${plural(found.dataset.labels, "label")}`),
    sortable(rows, found.methods),
    remark("≥ bounds: with fewer it is impossible, for the worst labels or distributions. ≤ bounds: this many are enough. Constructions are predicted unless they have evidence."),
    leftOut("row", found.rows.filter((x) => !x.applies).map((x) => [x.title, x.reason])),
    growth(found, job),
  ];
}

function sortable(rows, methods) {
  const theorem = h("aside", { class: "card theorem", "aria-live": "polite" }, remark("Point at a row to read its theorem."));
  const body = h("tbody");
  let by = "parameters";
  let down = false;

  function tell(row) {
    const about = methods[row.name];
    const parts = [h("h3", {}, row.title)];
    if (about) {
      parts.push(remark(`${about.paper}, ${about.item}`), h("p", {}, about.statement));
      for (const name of ["assumptions", "guarantee", "departures"]) if (about[name]) parts.push(h("h4", {}, name), h("p", { class: "codes" }, about[name]));
    }
    if (row.reason) parts.push(h("p", {}, row.reason));
    theorem.replaceChildren(...parts);
    for (const line of body.children) line.classList.toggle("chosen", line.row === row);
  }
  function line(row) {
    const sign = row.kind === "bound" ? SIGNS[row.direction] ?? "" : "";
    const about = (row.reason || "").startsWith("estimated") ? "~ " : "";
    const size = (x) => (x === null ? "-" : `${sign}${about}${number(x)}`);
    const made = h("tr", { tabindex: "0", class: row.kind, onmouseenter: () => tell(row), onfocus: () => tell(row), onclick: () => tell(row) },
      h("th", { scope: "row" }, row.title), h("td", { class: "number" }, size(row.parameters)), h("td", { class: "number" }, size(row.bits)),
      h("td", { class: "number" }, number(row.units)), h("td", { class: "number" }, number(row.depth)), h("td", {}, row.evidence ? evidence(row.evidence) : h("span", { class: "remark" }, row.kind !== "bound" ? "predicted" : row.title.includes("rule of thumb") ? "rule of thumb" : "bound")));
    made.row = row;
    return made;
  }
  function sort(name) {
    down = by === name ? !down : false;
    by = name;
    const value = (row) => row[by] ?? (by === "title" || by === "evidence" ? "~" : Infinity);
    const order = [...rows].sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0));
    if (down) order.reverse();
    body.replaceChildren(...order.map(line));
    COLUMNS.forEach(([key], i) => heads[i].setAttribute("aria-sort", key !== by ? "none" : down ? "descending" : "ascending"));
  }
  const buttons = COLUMNS.map(([key, title]) => h("button", { type: "button", class: "sort", onclick: () => sort(key) }, title));
  const whole = table(buttons, (i) => i && i < 5, body);
  const heads = whole.querySelectorAll("th");
  down = true;
  sort("parameters");
  return h("div", { class: "beside" }, region("tall", "Methods and bounds", whole), theorem);
}

// Closed forms for more contexts than the data has; all of them are computed once.
function growth(found, job) {
  if (!found.lines.length) return null;
  const places = found.lines[0].points.map(([contexts]) => contexts);
  const series = [
    ...found.lines.map((x) => ({ name: x.name, points: new Map(x.points), sign: "" })),
    ...found.curves.map((x) => ({ name: `${x.source}${x.kind === "rule_of_thumb" ? ", rule of thumb" : ""}`, points: new Map(x.points), sign: SIGNS[x.direction] ?? "" })),
  ];
  const start = Math.max(0, places.findIndex((x) => x >= found.dataset.contexts));
  const range = h("input", { type: "range", min: 0, max: places.length - 1, step: 1, value: start, oninput: () => show() });
  const said = h("output", { "aria-live": "polite" });
  const body = h("tbody");
  let mark = null;

  function show() {
    const contexts = places[Number(range.value)];
    const text = `${number(contexts)} contexts`;
    range.setAttribute("aria-valuetext", text);
    said.textContent = text;
    const sized = series.map((x) => [x, x.points.get(contexts) ?? null]).sort((a, b) => (a[1] ?? Infinity) - (b[1] ?? Infinity));
    body.replaceChildren(...sized.map(([x, size]) => h("tr", {}, h("th", { scope: "row" }, x.name), h("td", { class: "number" }, size === null ? "-" : x.sign + number(size)))));
    if (mark) mark(contexts);
  }
  const frame = framed(job.id, found.picture, "Sizes by the number of contexts", "Parameters over contexts, on logarithmic axes", (made) => {
    mark = marker(made, found.limits.x);
    show();
  });
  show();
  return h("section", {}, h("h2", {}, "How they grow"), remark("Closed forms for random data of this shape: same length, labels and vocabulary."),
    h("div", { class: "slider" }, field("Contexts", range), said),
    h("div", { class: "beside wide" }, frame, region("tall", "Parameters at this number of contexts", table(["method or bound", "parameters"], (i) => i, body))));
}

// A line in the picture at a number of contexts; limits are those of its logarithmic axis.
function marker(made, limits) {
  const area = made.querySelector('[id$="axes-area"]');
  if (!area || !limits) return null;
  const box = area.getBBox();
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  line.setAttribute("y1", box.y);
  line.setAttribute("y2", box.y + box.height);
  line.classList.add("cursor");
  made.append(line);
  return (contexts) => {
    const share = Math.log(contexts / limits[0]) / Math.log(limits[1] / limits[0]);
    const x = box.x + box.width * Math.max(0, Math.min(1, share));
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
  };
}

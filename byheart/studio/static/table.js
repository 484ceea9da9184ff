// A table of any length: only the rows in view are fetched, and only these are in the page.

import { h, number, shown } from "./dom.js";
import { rows as fetchRows } from "./server.js";

const HEIGHT = 34; // pixels of a row, as in the style sheet
const BEYOND = 20; // rows that are fetched on either side

// The columns of rows of data; `cell` shows an input.
export const itemColumns = (cell = (x) => shown(x.input)) => [
  { title: "row", number: true, cell: (x) => number(x.row) },
  { title: "input", cell },
  { title: "label", cell: (x) => shown(x.label) },
];

// columns: [{ title, cell: (row) => text or element, number: whether it is one }]
export function windowed({ job, table, total, columns, label }) {
  const body = h("tbody");
  const head = h("thead", {}, h("tr", {}, columns.map((c) => h("th", { scope: "col", class: c.number ? "number" : null }, c.title))));
  const inner = h("table", { "aria-rowcount": total + 1 }, head, body);
  const box = h("div", { class: "window", tabindex: "0", role: "region", "aria-label": label }, inner);
  const space = () => h("tr", { class: "space", "aria-hidden": "true" }, h("td", { colspan: columns.length }));
  const before = space();
  const after = space();
  let asked = 0;
  let shownFirst = -1;
  let shownLast = -1;

  async function show() {
    const first = Math.max(0, Math.floor(box.scrollTop / HEIGHT) - BEYOND);
    const last = Math.min(total, Math.ceil((box.scrollTop + (box.clientHeight || 400)) / HEIGHT) + BEYOND);
    const near = Math.floor(box.scrollTop / HEIGHT);
    if (near >= shownFirst && near + Math.ceil(box.clientHeight / HEIGHT) <= shownLast) return;
    const turn = ++asked;
    let found;
    try {
      found = await fetchRows(job, table, first, last - first);
    } catch {
      return; // the job is gone; the next state says so
    }
    if (turn !== asked) return; // scrolled on in the meantime
    shownFirst = first;
    shownLast = first + found.rows.length;
    before.firstChild.style.height = `${first * HEIGHT}px`;
    after.firstChild.style.height = `${(total - shownLast) * HEIGHT}px`;
    body.replaceChildren(before, ...found.rows.map((row, i) => line(row, first + i)), after);
  }

  function line(row, index) {
    const cells = columns.map((c) => {
      const cell = h("td", { class: c.number ? "number" : null }, c.cell(row));
      if (!c.number && typeof c.cell(row) === "string") cell.title = c.cell(row);
      return cell;
    });
    return h("tr", { "aria-rowindex": index + 2 }, cells);
  }

  box.addEventListener("scroll", () => requestAnimationFrame(show), { passive: true });
  requestAnimationFrame(show);
  return h("div", { class: "windowed" }, box, h("p", { class: "remark" }, `${number(total)} rows`));
}

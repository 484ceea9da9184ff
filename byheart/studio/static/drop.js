// Drop: what was read and what was not, conflicts with their lines, and the bounds as one bar.

import { Progress, attempt, evidence, field, fill, h, lead, lines, note, number, outcome, plural, region, shown, table } from "./dom.js";
import { answer, begin, example, jobOf, upload } from "./server.js";
import { itemColumns, windowed } from "./table.js";

const SAMPLES = { "facts.jsonl": "facts", "book.txt": "a short book", "countries.csv": "a table" };

export function drop(root, go) {
  const said = h("div", { "aria-live": "polite" });
  const input = h("input", { type: "file", id: "file", class: "hidden", onchange: () => input.files[0] && send(input.files[0]) });
  const zone = h("div", { class: "zone" },
    h("label", { for: "file", class: "button" }, "Choose a file"), input,
    h("span", {}, " or drop it here: a table (.csv, .xlsx, .jsonl, .parquet, ...) or any text. Or try "),
    Object.entries(SAMPLES).map(([name, title]) => h("button", { type: "button", class: "quiet", onclick: () => tried(() => example(name)) }, title)));
  const progress = new Progress();
  const result = h("div");
  const options = h("div");
  root.append(zone, said, progress.element, result, options);

  const tried = (action) => attempt(said, action);
  function send(file) {
    tried(() => upload(file));
    input.value = "";
  }
  for (const kind of ["dragover", "dragleave", "drop"]) {
    root.addEventListener(kind, (event) => {
      event.preventDefault();
      zone.classList.toggle("over", kind === "dragover");
      const file = kind === "drop" && event.dataTransfer.files[0];
      if (file) send(file);
    });
  }

  return (state) => {
    const job = state.data && jobOf(state, state.data.jobs.read);
    progress.update(job);
    const over = job && job.status !== "running" && job.status !== "waiting";
    const model = state.models.filter((x) => x.bits && !x.given && x.data === state.data?.name).at(-1);
    outcome(result, job, (found) => read(found, job, model, go), model?.id);
    fill(options, [job?.id, job?.status], () => {
      const place = h("div");
      if (over && job.status !== "stopped") {
        answer(job.id).then((found) => {
          if (found.choose) result.replaceChildren(chooser(found.choose, state.data, tried));
          place.replaceChildren(reading(found.file, state.data, job.status === "failed" && !found.choose, tried));
        }, () => {});
      }
      return place;
    });
  };
}

function read(found, job, model, go) {
  const conflicts = found.conflicts.contexts;
  return [
    h("h2", {}, found.name),
    lead(`${plural(found.sequences, "sequence")}, ${plural(found.contexts, "context")}, ${plural(found.labels, "label")}. `,
      h("button", { type: "button", onclick: () => go("compile") }, "Compile it")),
    ...unread(found).map((x) => note(`not read: ${x}.`)),
    ...found.reading_notes.map((x) => note(`note: ${x}.`)),
    bar(found, model),
    conflicts ? conflicting(found, job) : h("p", {}, "No context has two labels."),
    h("h3", {}, "What was read"),
    h("div", { class: "two" }, lines(found.lines),
      windowed({ job: job.id, table: "rows", total: found.rows.shown, label: "Rows as they are understood", columns: itemColumns() })),
    found.rows.shown < found.rows.total ? note(`The first ${number(found.rows.shown)} of ${number(found.rows.total)} rows are listed.`) : null,
  ];
}

// What of the file is in no row.
function unread(found) {
  const parts = { length: "cut off by the length", empty: "with an empty cell", separator: "that end documents" };
  const nouns = { length: "prediction", empty: "row", separator: "token" };
  const left = Object.entries(found.left_out).filter(([, count]) => count).map(([name, count]) => `${plural(count, nouns[name] ?? name)} ${parts[name] ?? ""}`);
  const named = found.unused.slice(0, 20).join(", ") + (found.unused.length > 20 ? ` and ${number(found.unused.length - 20)} more` : "");
  if (found.unused.length) left.push(`${found.file.table ? "columns" : found.file.kind === ".npz" ? "arrays" : "files"} ${named}`);
  if (found.skipped && !found.left_out.empty) left.push(`${plural(found.skipped, found.file.table ? "row" : "document")} without anything to predict`);
  return left;
}

function conflicting(found, job) {
  const count = found.conflicts.contexts;
  const where = (x) => x.rows.slice(0, 6).map(([row, label], i) => `${x.lines.length ? "line" : "row"} ${number(x.lines[i] ?? row)}: ${shown(label)}`).join("; ") + (x.rows.length > 6 ? "; ..." : "");
  return h("section", {},
    h("h3", {}, `${plural(count, "context")} with two labels`),
    h("p", {}, "A method that stores labels refuses them unless you choose what to do with them on the next screen; a method that stores distributions keeps all of them."),
    windowed({ job: job.id, table: "conflicts", total: Math.min(count, 1000), label: "Contexts with two labels", columns: [
      { title: "context", cell: (x) => shown(x.input) },
      { title: "labels", cell: (x) => x.labels.map(([label, seen]) => `${shown(label)} (${number(seen)})`).join(", ") },
      { title: "where", cell: where },
    ] }));
}

// From what the labels need to what the model takes, in bits, on a logarithmic axis.
function bar(found, model) {
  const marks = [];
  if (!found.conflicts.contexts && found.entropy.labels > 0) marks.push({ name: "entropy", bits: found.entropy.labels / Math.LN2, means: "what these labels need, by their frequencies" });
  if (found.labels > 1) marks.push({ name: "information", bits: found.contexts * Math.log2(found.labels), means: "what the worst labels of as many contexts need" });
  if (model) marks.push({ name: "your model", bits: model.bits, means: `${model.name}, ${model.evidence}`, own: true });
  if (!marks.length) return note("One label alone needs no bits.");
  const low = Math.min(...marks.map((x) => x.bits)) / 1.5;
  const high = Math.max(...marks.map((x) => x.bits)) * (model ? 1.5 : 4);
  const place = (bits) => (100 * Math.log(bits / low)) / Math.log(high / low);
  const first = marks.find((x) => x.name === "information") ?? marks[0];
  const track = h("div", { class: "bar", "aria-hidden": "true" });
  const range = h("div", { class: "range" });
  range.style.left = `${place(first.bits)}%`;
  range.style.width = model ? `${Math.max(0.5, place(model.bits) - place(first.bits))}%` : "0";
  track.append(range);
  for (const mark of marks) {
    const at = place(mark.bits);
    const edge = at < 8 ? " first" : at > 90 ? " last" : "";
    const one = h("div", { class: `mark${mark.own ? " own" : ""}${mark.name === "entropy" ? "" : " below"}${edge}` }, h("span", {}, mark.name));
    one.style.left = `${at}%`;
    track.append(one);
  }
  const ratio = model && first.name === "information" ? `Your model takes ${number(model.bits / first.bits)} times the information. ` : "";
  return h("section", {}, h("h3", {}, "How many bits it takes"),
    track,
    h("table", { class: "lines" }, h("tbody", {}, marks.map((mark) => h("tr", { class: mark.own ? "own" : null },
      h("th", { scope: "row" }, mark.name), h("td", { class: "number" }, `${number(mark.bits)} bits`), h("td", { class: "remark" }, mark.means))),
      found.limits.filter((x) => x.value).map((x) => h("tr", {}, h("th", { scope: "row" }, x.kind === "theorem" ? "bound" : "rule of thumb"),
        h("td", { class: "number" }, `${x.direction === "at_least" ? "≥" : "≤"} ${number(x.value)} bits`), h("td", { class: "remark" }, `${x.source}. ${x.reason ?? ""}`))))),
    ratio || !model ? h("p", { class: "remark" }, ratio, model ? evidence(model.evidence) : "Compile it to see your model on this bar.") : null);
}

// The first rows: a click on what is asked, a click on what is answered.
function chooser(found, data, tried) {
  const chosen = new Set(found.input);
  let label = found.label;
  const box = (type, name, word, checked, onchange) => h("label", {}, h("input", { type, name: "chosen-" + word, checked, onchange, "aria-label": `${name}: ${word}` }), ` ${word}`);
  const head = found.columns.map((name) => h("span", {}, name, h("small", {},
    box("checkbox", name, "question", chosen.has(name), (event) => (event.target.checked ? chosen.add(name) : chosen.delete(name))),
    box("radio", name, "answer", name === label, () => { label = name; }))));
  const body = h("tbody", {}, found.first.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))));
  const send = () => tried(async () => {
    const input = found.columns.filter((x) => chosen.has(x) && x !== label);
    if (!input.length) throw new Error("Choose a question as well: a column that is not the answer.");
    await begin("read", { loading: { ...data.loading, input, label, ...(found.gaps ? { empty: "skip" } : {}) } });
  });
  return h("section", { class: "card" }, h("h2", {}, "Which column is the question, and which the answer?"),
    h("p", {}, `The model is asked the question and gives the answer. Suggested: ${found.input.join(" and ")}, answered by ${found.label}${found.contexts === null ? "" : ` (${plural(found.contexts, "context")}, ${plural(found.conflicts, "conflict")})`}.${found.gaps ? " Rows with an empty cell are left out." : ""}`),
    region("", "The first rows", table(head, () => false, body)), h("p", {}, h("button", { type: "button", onclick: send }, "Read it")));
}

// How the file is read: the options of the command line that apply to it.
function reading(file, data, open, tried) {
  const controls = {};
  const made = file.options.map((option) => {
    const value = file.given[option.name];
    let control;
    if (option.several && option.columns.length) {
      control = h("select", { multiple: true, size: Math.min(6, option.columns.length) }, option.columns.map((x) => h("option", { value: x, selected: (value || []).includes(x) }, x)));
    } else if (option.columns.length) {
      control = h("select", {}, h("option", { value: "" }, ""), option.columns.map((x) => h("option", { value: x, selected: value === x }, x)));
    } else if (option.choices.length && option.name !== "window") {
      control = h("select", {}, h("option", { value: "" }, option.default ? `${option.default} (default)` : ""), option.choices.filter((x) => x !== option.default).map((x) => h("option", { value: x, selected: value === x }, x)));
    } else control = h("input", { type: "text", value: Array.isArray(value) ? value.join(",") : value ?? "", autocomplete: "off" });
    controls[option.name] = control;
    return field(option.name, control, option.help);
  });
  const form = h("form", { onsubmit: (event) => {
    event.preventDefault();
    const loading = {};
    for (const option of file.options) {
      const control = controls[option.name];
      if (option.several) {
        const all = control.selectedOptions ? [...control.selectedOptions].map((x) => x.value) : control.value.split(",").map((x) => x.trim()).filter(Boolean);
        if (all.length) loading[option.name] = all;
      } else if (control.value.trim()) {
        const text = control.value.trim();
        loading[option.name] = /^\d+$/.test(text) && ["length", "separator"].includes(option.name) ? Number(text) : text;
      }
    }
    tried(() => begin("read", { loading }));
  } }, h("div", { class: "fields" }, made), h("button", {}, "Read it again"));
  return h("details", { class: "card", open }, h("summary", {}, "How the file is read"), form);
}

// Edit and forget: change or remove an item, and see which bits flip.

import { Progress, ending, field, fill, h, lines, note, number, plural, problem, shown } from "./dom.js";
import { refill } from "./ask.js";
import { drawing } from "./picture.js";
import { answer, begin, latest, stop } from "./server.js";
import { windowed } from "./table.js";

export function edit(root, go) {
  const select = h("select", { onchange: () => state && update(state) });
  const input = h("input", { type: "text", autocomplete: "off", spellcheck: "false", required: true });
  const label = h("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const said = h("div", { "aria-live": "polite" });
  const refused = h("div");
  const forms = h("form", { class: "asking", onsubmit: (event) => { event.preventDefault(); act("change"); } },
    field("Item", input, "The input of an item, as in your data; in text, a whole document. Click a row below to choose one."),
    field("New label", label),
    h("div", { class: "buttons" },
      h("button", {}, "Change its label"),
      h("button", { type: "button", class: "quiet", onclick: () => act("add") }, "Add it as a new item"),
      h("button", { type: "button", class: "quiet", onclick: () => act("forget") }, "Forget it")));
  const progress = new Progress(stop);
  const result = h("div");
  const list = h("div");
  const empty = note("There is no model yet. Compile one first.");
  root.append(h("p", { class: "lead" }, "The model after an edit is, in every byte of its weights, what compiling the changed data gives. Forgetting compiles the remaining data alone."),
    empty, h("div", { class: "asking" }, field("Model", select)), refused, forms, said, progress.element, result, list);
  let state = null;
  let chosen = null; // the tokens of the row that was clicked, while the box says the same

  async function act(kind) {
    said.replaceChildren();
    const text = input.value.trim();
    if (!text) return said.replaceChildren(problem("Name an item first."));
    const item = chosen && shown(chosen) === input.value && !chosen.some((x) => typeof x === "string" && /\s/.test(x)) ? chosen : text;
    if (kind !== "forget" && !label.value.trim()) return said.replaceChildren(problem("Write the label as well."));
    try {
      if (kind === "forget") await begin("forget", { model: select.value, items: [text] });
      else await begin("edit", { model: select.value, edits: [{ edit: kind, input: item, label: value(label.value.trim()) }] });
    } catch (error) {
      said.replaceChildren(problem(error.message));
    }
  }
  // labels of a model are all words or all integers; which, its rows say
  function value(text) {
    return typeof list.sample === "number" && /^-?\d+$/.test(text) ? Number(text) : text;
  }

  async function compileEditable(model) {
    said.replaceChildren();
    const about = state.jobs.find((x) => x.id === model.job)?.asked ?? {};
    try {
      await begin("compile", { ...about, options: { ...about.options, editable: true } });
    } catch (error) {
      said.replaceChildren(problem(error.message));
    }
  }

  function update(now) {
    state = now;
    const models = state.models.filter((x) => x.method && x.known_data);
    empty.hidden = models.length > 0;
    select.parentElement.hidden = models.length === 0;
    refill(select, models);
    const model = models.find((x) => x.id === select.value);
    forms.hidden = !model?.editable;
    const job = latest(state, (x) => x.task === "edit" || x.task === "forget" || (x.task === "compile" && x.asked.options?.editable));
    fill(refused, [model?.id, model?.editable, job?.status], () => model?.stock ? [note("A stock checkpoint is changed on the command line: byheart edit, byheart forget.")] : model && !model.editable ? [note("This model is not editable: the labels of its data decided its structure."),
      h("button", { type: "button", disabled: job?.status === "running", onclick: () => compileEditable(model) }, "Compile it again, editable")] : []);
    progress.update(job);
    fill(result, [job?.id, job?.status], () => {
      const place = h("div");
      const made = state.models.find((x) => x.job === job?.id);
      if (job?.status === "done" && job.task !== "compile") answer(job.id).then((found) => place.replaceChildren(...changed(found, job, made)));
      return [ending(job), place];
    });
    const asked = model?.editable ? latest(state, (x) => x.task === "items" && x.asked.model === model.id) : null;
    if (model?.editable && !asked && update.asked !== model.id) {
      update.asked = model.id;
      begin("items", { model: model.id }).catch(() => {});
    }
    fill(list, [asked?.id, asked?.status], () => {
      if (asked?.status !== "done") return [ending(asked)];
      const pick = (row) => h("button", { type: "button", class: "link", title: shown(row.input), onclick: () => {
        chosen = row.input;
        list.sample = Array.isArray(row.label) ? row.label[0] : row.label;
        input.value = shown(row.input);
        label.value = shown(row.label);
        label.focus();
      } }, shown(row.input));
      return [h("h2", {}, "Its items"), windowed({ job: asked.id, table: "rows", total: asked.summary.rows, label: "Items of the model", columns: [
        { title: "row", number: true, cell: (x) => number(x.row) },
        { title: "input", cell: pick },
        { title: "label", cell: (x) => shown(x.label) },
      ] })];
    });
  }
  return update;
}

function changed(found, job, made) {
  const counts = ["changed", "added", "removed"].filter((x) => found[x]).map((x) => `${plural(found[x], "item")} ${x === "removed" && found.kind === "forget" ? "forgotten" : x}`).join(", ");
  const parts = [
    h("section", { class: `card verdict ${found.verified.evidence}` },
      h("p", { class: "stamp" }, found.verified.evidence === "proved" ? "PROVED" : found.verified.evidence), h("p", { class: "lead" }, `${counts}. ${found.verdict}.`),
      h("p", {}, found.rebuilt ? "Compiled from the changed data alone" : "Solved again in place", "; ", found.structure_kept ? "structure kept." : "structure found anew."),
      h("p", {}, made ? h("a", { class: "button quiet", href: `/models/${made.id}`, download: "" }, "Download the model folder (.zip)") : null, " ", h("a", { class: "button quiet", href: `/jobs/${job.id}/data`, download: "" }, "Download its data (.jsonl)"))),
    h("h3", {}, "The weights"),
    lines([["before", "", found.weights.before], ["after", "", found.weights.after]]),
  ];
  if (found.diff) {
    parts.push(h("p", { class: "lead" }, `${number(found.diff.parameters)} of ${plural(found.diff.of, "parameter")} differ, in ${plural(found.diff.bits, "bit")}.`),
      h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Which bits flip" }, h("table", { class: "rows" }, h("thead", {}, h("tr", {}, ["stage", "parameters", "differ", "bits that flip"].map((x, i) => h("th", { scope: "col", class: i ? "number" : null }, x)))),
        h("tbody", {}, found.diff.stages.map((x) => h("tr", { class: x.changed ? "chosen" : null }, h("th", { scope: "row" }, x.name), [x.parameters, x.changed, x.bits].map((y) => h("td", { class: "number" }, number(y)))))))));
    if (found.diff.answers.length) parts.push(h("h3", {}, "Answers that differ"), h("ul", {}, found.diff.answers.map((x) => h("li", {}, `${shown(x.input)}: ${shown(x.before)}, then ${shown(x.after)}`))));
  } else parts.push(note("The network has another shape, so that no parameter can be compared."));
  if (found.picture) {
    const frame = h("div", { class: "scroll picture", tabindex: "0", role: "region", "aria-label": "Parameters that differ" });
    drawing(job.id, found.picture, "The share of parameters of each stage that differ").then((made) => frame.replaceChildren(made));
    parts.push(frame);
  }
  return parts;
}


// Edit and forget: change or remove an item, and see which bits flip.

import { attempt, download, ending, field, fill, h, layout, lead, lines, note, number, outcome, plural, problem, region, shown, stamped, table } from "./dom.js";
import { refill } from "./ask.js";
import { framed } from "./picture.js";
import { begin, latest } from "./server.js";
import { itemColumns, windowed } from "./table.js";

export function edit(root, go) {
  const select = h("select", { onchange: () => state && update(state) });
  const input = h("input", { type: "text", autocomplete: "off", spellcheck: "false", required: true });
  const label = h("input", { type: "text", autocomplete: "off", spellcheck: "false" });
  const refused = h("div");
  const forms = h("form", { class: "asking", onsubmit: (event) => { event.preventDefault(); act("change"); } },
    field("Item", input, "The input of an item, as in your data; in text, a whole document. Click a row below to choose one."),
    field("New label", label),
    h("div", { class: "buttons" },
      h("button", {}, "Change its label"),
      h("button", { type: "button", class: "quiet", onclick: () => act("add") }, "Add it as a new item"),
      h("button", { type: "button", class: "quiet", onclick: () => act("forget") }, "Forget it")));
  const list = h("div");
  const empty = note("There is no model yet. Compile one first.");
  const about = "The model after an edit is, in every byte of its weights, what compiling the changed data gives. Forgetting compiles the remaining data alone.";
  const { said, progress, result } = layout(root, about, empty, h("div", { class: "asking" }, field("Model", select)), refused, forms);
  root.append(list);
  let state = null;
  let chosen = null; // the tokens of the row that was clicked, while the box says the same

  function act(kind) {
    const text = input.value.trim();
    if (!text) return said.replaceChildren(problem("Name an item first."));
    const item = chosen && shown(chosen) === input.value && !chosen.some((x) => typeof x === "string" && /\s/.test(x)) ? chosen : text;
    if (kind !== "forget" && !label.value.trim()) return said.replaceChildren(problem("Write the label as well."));
    const edits = [{ edit: kind, input: item, label: value(label.value.trim()) }];
    return attempt(said, () => begin(kind === "forget" ? "forget" : "edit", { model: select.value, ...(kind === "forget" ? { items: [text] } : { edits }) }));
  }
  // labels of a model are all words or all integers; which, its rows say
  function value(text) {
    return typeof list.sample === "number" && /^-?\d+$/.test(text) ? Number(text) : text;
  }

  function compileEditable(model) {
    const about = state.jobs.find((x) => x.id === model.job)?.asked ?? {};
    return attempt(said, () => begin("compile", { ...about, options: { ...about.options, editable: true } }));
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
    const made = state.models.find((x) => x.job === job?.id);
    outcome(result, job, (found) => (job.task === "compile" ? [] : changed(found, job, made, go)));
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
      return [h("h2", {}, "Its items"), windowed({ job: asked.id, table: "rows", total: asked.summary.rows, label: "Items of the model", columns: itemColumns(pick) })];
    });
  }
  return update;
}

function changed(found, job, made, go) {
  const counts = ["changed", "added", "removed"].filter((x) => found[x]).map((x) => `${plural(found[x], "item")} ${x === "removed" && found.kind === "forget" ? "forgotten" : x}`).join(", ");
  const parts = [
    stamped(found.verified.evidence, lead(`${counts}. ${found.verdict}.`),
      h("p", {}, found.rebuilt ? "Compiled from the changed data alone" : "Solved again in place", "; ", found.structure_kept ? "structure kept." : "structure found anew."),
      found.kind === "forget" && made ? h("p", {}, h("button", { type: "button", onclick: () => go("audit") }, "Audit it"), " What does the new model still hold of the old file?") : null,
      h("p", {}, made ? download(`/models/${made.id}`, "Download the model folder (.zip)") : null, " ", download(`/jobs/${job.id}/data`, "Download its data (.jsonl)"))),
    h("h3", {}, "The weights"),
    lines([["before", "", found.weights.before], ["after", "", found.weights.after]]),
  ];
  if (found.diff) {
    parts.push(lead(`${number(found.diff.parameters)} of ${plural(found.diff.of, "parameter")} differ, in ${plural(found.diff.bits, "bit")}.`),
      region("", "Which bits flip", table(["stage", "parameters", "differ", "bits that flip"], (i) => i,
        h("tbody", {}, found.diff.stages.map((x) => h("tr", { class: x.changed ? "chosen" : null }, h("th", { scope: "row" }, x.name), [x.parameters, x.changed, x.bits].map((y) => h("td", { class: "number" }, number(y)))))))));
    if (found.diff.answers.length) parts.push(h("h3", {}, "Answers that differ"), h("ul", {}, found.diff.answers.map((x) => h("li", {}, `${shown(x.input)}: ${shown(x.before)}, then ${shown(x.after)}`))));
  } else parts.push(note("The network has another shape, so that no parameter can be compared."));
  if (found.picture) parts.push(framed(job.id, found.picture, "Parameters that differ", "The share of parameters of each stage that differ"));
  return parts;
}

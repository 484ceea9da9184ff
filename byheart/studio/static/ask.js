// Ask: a box, the answer, and its way through the network, stage by stage.

import { attempt, field, fill, h, layout, lead, note, number, option, outcome, plural, remark, shown } from "./dom.js";
import { framed } from "./picture.js";
import { begin, latest } from "./server.js";
import { itemColumns, windowed } from "./table.js";

// The list of models in a select; a new model is chosen when it appears.
export function refill(select, models) {
  const ids = models.map((x) => `${x.id} ${x.parameters}`).join();
  if (select.ids === ids) return;
  const newest = models.at(-1)?.id;
  const keep = newest === select.newest ? select.value : newest;
  select.ids = ids;
  select.newest = newest;
  const title = (x) => `${x.name}${x.data ? `, ${x.data}` : ""}${x.parameters ? `: ${plural(x.parameters, "parameter")}` : ""}`;
  select.replaceChildren(...models.map((x) => option([x.id, title(x)])));
  select.value = keep ?? "";
}

export function ask(root) {
  const select = h("select", { onchange: () => update(state) });
  const question = h("div", { class: "cells" });
  const form = h("form", { class: "asking", onsubmit: submit }, field("Model", select), question,
    h("div", { class: "buttons" }, h("button", {}, "Ask"), h("button", { type: "button", class: "quiet", onclick: () => attempt(said, () => begin("recite", { model: select.value })) }, "Recite all of it")));
  const empty = note("There is no model yet. Compile one first.");
  const { said, progress, result } = layout(root, "Ask the model, and follow how its weights answer.", empty, form);

  function submit(event) {
    event.preventDefault();
    return attempt(said, async () => {
      if (!asked().trim()) return;
      await begin("ask", { model: select.value, text: asked() });
      turn += 1;
    });
  }
  let turn = 0;
  let state = null;
  let mark = null; // between the cells of a question; null: there is one box
  const list = h("div");
  root.append(list);
  const boxes = () => [...question.querySelectorAll("input")];
  const asked = () => boxes().map((x) => x.value.trim()).join(mark ? ` ${mark} ` : " ");
  function write(text) {
    const cells = mark ? text.split(text.includes(` ${mark} `) ? ` ${mark} ` : mark) : [text];
    boxes().forEach((box, i) => (box.value = cells[i] ?? ""));
    submit(new Event("submit"));
  }

  function update(now) {
    state = now;
    const models = state.models.filter((x) => x.method && !x.checkpoint);
    empty.hidden = models.length > 0;
    form.hidden = models.length === 0;
    refill(select, models);
    const model = models.find((x) => x.id === select.value);
    fill(question, [model?.id, model?.columns], () => {
      mark = model?.between ?? null;
      const box = () => h("input", { type: "text", autocomplete: "off", spellcheck: "false" });
      return mark ? model.columns.map((x) => field(x, box())) : field("Question", box(), "An input of your data, as a row below");
    });
    const own = (x) => x.asked.model === select.value;
    const job = latest(state, (x) => own(x) && x.task === "ask" && x.asked.text === asked() && !state.jobs.some((y) => own(y) && y.task === "recite" && Number(y.id.slice(1)) > Number(x.id.slice(1)))) ?? latest(state, (x) => own(x) && (x.task === "ask" || x.task === "recite"));
    progress.update(job);
    outcome(result, job, job?.task === "recite" ? recited : answered, turn);
    const items = model?.known_data ? latest(state, (x) => own(x) && x.task === "items") : null;
    if (model?.known_data && !items && update.items !== model.id) {
      update.items = model.id;
      begin("items", { model: model.id }).catch(() => {});
    }
    fill(list, [model?.id, items?.id, items?.status], () => {
      if (items?.status !== "done") return [];
      const pick = (row) => (row.typed ? h("button", { type: "button", class: "link", title: row.typed, onclick: () => write(row.typed) }, row.typed) : shown(row.input));
      return [h("h2", {}, "Its items"), remark("Click one to ask it."), windowed({ job: items.id, table: "rows", total: items.summary.rows, label: "Items to ask", columns: itemColumns(pick) })];
    });
  }
  return update;
}

// All of it, from the weights.
function recited(found) {
  const [documents, tokens, rows] = found.counts;
  const what = rows ? plural(documents, "row") : `${plural(documents, "document")}, ${plural(tokens, "token")}`;
  const same = found.difference ?? (found.checked ? "all as in the file" : "from the weights alone");
  return [
    h("section", { class: `card verdict ${found.holds ? "proved" : "refuted"}` }, lead(`Recited: ${what}; ${same}.`)),
    h("pre", { tabindex: "0", "aria-label": "What the model recites" }, found.text),
    found.cut ? note("Only the beginning is shown: byheart recite DIR -o FILE writes all of it.") : null,
  ];
}

function answered(found, job) {
  const unknown = found.label === null;
  const stranger = found.in_data === false && found.known === null; // the network itself cannot tell
  const several = found.probabilities && found.probabilities.length > 1;
  const parts = [
    h("section", { class: `card answer${unknown || stranger ? " unknown" : ""}`, "aria-live": "polite" },
      remark(shown(found.input)),
      h("p", { class: "big" }, stranger ? "not in the data" : !unknown ? found.shown : found.known === false ? "unknown" : "no label"),
      stranger ? h("p", {}, unknown ? "The network gives no label" : ["The network answers ", h("strong", {}, found.shown), ", which means nothing"], ': it may answer anything to an input that is not in its data. Compile it with the option "unknown", and it says so itself.') : null,
      several ? h("p", {}, found.likely) : null,
      found.note ? note(`note: ${found.note}.`) : null,
      unknown && found.known === false && !found.trace ? note("A word is outside the model's vocabulary, so there is nothing to trace.") : null,
      !unknown && found.in_data === null && found.known === null && !found.rejects && !found.probabilities ? note('This model was compiled without "unknown": to an input that is not in its data it may answer anything.') : null),
  ];
  const located = found.located;
  if (located) {
    const read = located.read.length;
    parts.push(h("p", {}, located.bits.length
      ? `${number(read)} of the ${plural(located.of, "parameter")} hold this answer. The network adds them up; ${plural(located.bits.length, "bit")} of the sum spell it.`
      : `The answer reads ${number(read)} of ${plural(located.of, "parameter")}: ${located.holds}.`,
      located.neurons.length ? ` Neurons ${located.neurons.join(", ")}.` : ""));
  }
  if (found.picture) parts.push(stepper(found, job));
  if (found.lines.length) parts.push(h("details", { class: "card", open: !found.picture }, h("summary", {}, "The trace in words"), h("pre", { tabindex: "0", "aria-label": "The trace in words" }, found.lines.join("\n"))));
  if (located && located.read.length) {
    const places = located.read.slice(0, 40).map(([layer, tensor, row, column]) => h("li", {}, h("code", {}, `${tensor}[${row},${column}]`), ` of layer ${layer}`));
    parts.push(h("details", { class: "card" }, h("summary", {}, "The parameters that hold the answer"), h("ul", {}, places), located.read.length > 40 ? note(`and ${number(located.read.length - 40)} more`) : null));
  }
  return parts;
}

// The network with a light that goes down stage by stage: what is lit has worked on this input.
function stepper(found, job) {
  const stages = found.network;
  const words = h("p", { class: "stage", "aria-live": "polite" });
  const range = h("input", { type: "range", min: 1, max: stages.length, value: stages.length, "aria-label": "Stage", oninput: () => step(Number(range.value)) });
  const play = h("button", { type: "button", onclick: toggle }, "Play");
  const back = h("button", { type: "button", class: "quiet", onclick: () => step(at - 1), "aria-label": "Previous stage" }, "‹");
  const forth = h("button", { type: "button", class: "quiet", onclick: () => step(at + 1), "aria-label": "Next stage" }, "›");
  let at = stages.length;
  let timer = null;
  let picture = null;

  function step(to) {
    at = Math.max(1, Math.min(stages.length, to));
    range.value = at;
    back.disabled = at === 1;
    forth.disabled = at === stages.length;
    const stage = stages[at - 1];
    range.setAttribute("aria-valuetext", stage.stage);
    const full = stage.lanes ?? [];
    const fired = stage.fired ? ` ${plural(stage.fired, "unit")} fired.` : "";
    let lanes = "";
    if (stage.lanes && !full.length) lanes = " All lanes are 0 after it.";
    else if (full.length === 1) lanes = ` Lane ${full[0]} is not 0 after it.`;
    else if (full.length) lanes = ` Lanes ${full.slice(0, 12).join(", ")}${full.length > 12 ? ", ..." : ""} are not 0 after it.`;
    const read = stage.read ? ` It holds ${plural(stage.read, "parameter")} that this answer reads.` : "";
    words.replaceChildren(h("strong", {}, `${at} of ${stages.length}: ${stage.stage}. `), `${stage.does}${lanes}${fired}${read}`);
    for (const part of picture?.querySelectorAll("[data-stage]") ?? []) {
      const own = Number(part.dataset.stage);
      part.classList.toggle("lit", own < at);
      part.classList.toggle("now", own === at - 1);
    }
  }
  function toggle() {
    if (timer !== null) {
      clearInterval(timer);
      timer = null;
      play.textContent = "Play";
      return;
    }
    play.textContent = "Pause";
    step(at === stages.length ? 1 : at + 1);
    timer = setInterval(() => (at < stages.length && play.isConnected ? step(at + 1) : toggle()), 900);
  }
  const frame = framed(job.id, found.picture, "The network", `The network with ${stages.length} stages; what this answer reads is marked.`, (made) => {
    picture = made;
    made.classList.add("tracing");
    step(at);
  });
  step(at);
  return h("section", {}, h("h2", {}, "How it is answered"), h("div", { class: "steps" }, play, back, range, forth), words, frame);
}

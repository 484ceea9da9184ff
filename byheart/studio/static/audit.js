// Audit and capacity: how many bits of the data a model holds, item by item, against non-members.

import { Progress, ending, evidence, field, fill, h, lines, note, number, problem } from "./dom.js";
import { refill } from "./ask.js";
import { drawing } from "./picture.js";
import { answer, begin, latest, stop, upload } from "./server.js";
import { windowed } from "./table.js";

export function audit(root) {
  const select = h("select");
  const reference = h("select");
  const strangers = h("select");
  const file = h("input", { type: "file", onchange: () => file.files[0] && send(file.files[0]) });
  const said = h("div", { "aria-live": "polite" });
  const form = h("form", { class: "asking", onsubmit: submit },
    field("Model", select, "Compiled here, or named when the page was started: byheart studio --model DIR. The page itself opens no folders."),
    field("Reference", reference, "What is known without the data; only a second model separates memory from language"),
    field("Non-members", strangers, "Items that the model has not seen"),
    field("A file of non-members", file), h("button", {}, "Audit"));
  const empty = note("There is no model and no data yet. Choose a file and compile it, or start the page with --model DIR.");
  const progress = new Progress(stop);
  const result = h("div");
  root.append(h("p", { class: "lead" }, "What a model has memorised of an item is the code length of the item under a reference minus its code length under the model. Every figure is observed: a float run, not a proof."), empty, form, said, progress.element, result);

  async function send(one) {
    try {
      const found = await upload(one, "strangers");
      strangers.wanted = found.file;
      said.replaceChildren();
    } catch (error) {
      said.replaceChildren(problem(error.message));
    }
  }
  async function submit(event) {
    event.preventDefault();
    said.replaceChildren();
    const given = { model: select.value, reference: reference.value };
    if (strangers.value) given.strangers = strangers.value;
    try {
      await begin("audit", given);
    } catch (error) {
      said.replaceChildren(problem(error.message));
    }
  }

  return (state) => {
    const models = state.models.filter((x) => x.method);
    const ready = models.length > 0 && state.data;
    empty.hidden = Boolean(ready);
    form.hidden = !ready;
    refill(select, models);
    const given = models.filter((x) => x.checkpoint);
    fill(reference, given.map((x) => x.id), () => [["uniform", "uniform over the vocabulary"], ["unigram", "unigram: frequencies of the data"], ...given.map((x) => [x.id, x.name])].map(([id, name]) => h("option", { value: id }, name)));
    fill(strangers, [state.files.map((x) => x.id), given.length], () => [["", "none"], ...(given.length ? [["random", "random tokens (checkpoints only)"]] : []), ...state.files.map((x) => [x.id, x.name])].map(([id, name]) => h("option", { value: id }, name)));
    if (strangers.wanted && state.files.some((x) => x.id === strangers.wanted)) {
      strangers.value = strangers.wanted;
      strangers.wanted = null;
    }
    const job = latest(state, (x) => x.task === "audit");
    progress.update(job);
    fill(result, [job?.id, job?.status], () => {
      const place = h("div");
      if (job?.status === "done") answer(job.id).then((found) => place.replaceChildren(...audited(found, job)));
      return [ending(job), place];
    });
  };
}

function audited(found, job) {
  const frame = h("div", { class: "scroll picture", tabindex: "0", role: "region", "aria-label": "Items, and what the model could hold" });
  drawing(job.id, found.picture, "Left: bits memorised of each item, against non-members if there are any. Right: what is held beside what could be held.").then((made) => frame.replaceChildren(made));
  const place = h("div");
  const bits = (x) => (x === null ? "-" : number(x));
  const columns = [
    { title: "item", number: true, cell: (x) => number(x.item + 1) },
    { title: "predicted", number: true, cell: (x) => number(x.predicted) },
    { title: "bits", number: true, cell: (x) => bits(x.bits) },
    { title: "reference", number: true, cell: (x) => bits(x.reference_bits) },
    { title: "memorised", number: true, cell: (x) => bits(x.memorised) },
    { title: "accuracy", number: true, cell: (x) => `${(100 * x.accuracy).toFixed(1)} %` },
    { title: "verbatim", cell: (x) => (x.verbatim === null ? "-" : x.verbatim ? "yes" : "no") },
    { title: "exposure", number: true, cell: (x) => bits(x.exposure) },
  ];
  const order = h("select", { onchange: () => show() }, h("option", { value: "items-memorised" }, "most memorised first"), h("option", { value: "items" }, "in the order of the data"));
  const show = () => place.replaceChildren(windowed({ job: job.id, table: order.value, total: found.table, label: "Items", columns }));
  show();
  return [
    h("section", { class: "card verdict observed" }, h("p", { class: "stamp" }, evidence("observed")), h("p", { class: "lead" }, found.verdict)),
    ...found.notes.map((x) => note(`note: ${x}.`)),
    frame, lines(found.lines), h("h2", {}, "Item by item"), field("Order", order), place,
  ];
}

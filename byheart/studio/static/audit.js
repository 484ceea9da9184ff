// Audit and capacity: how many bits of the data a model holds, item by item, against non-members.

import { attempt, evidence, field, fill, h, layout, lead, lines, note, number, option, outcome } from "./dom.js";
import { refill } from "./ask.js";
import { framed } from "./picture.js";
import { begin, latest, upload } from "./server.js";
import { windowed } from "./table.js";

export function audit(root) {
  const select = h("select");
  const reference = h("select");
  const strangers = h("select");
  const file = h("input", { type: "file", onchange: () => file.files[0] && send(file.files[0]) });
  const form = h("form", { class: "asking", onsubmit: submit },
    field("Model", select, "Compiled here, or named when the page was started: byheart studio --model DIR. The page itself opens no folders."),
    field("Reference", reference, "What is known without the data; only a second model separates memory from language"),
    field("Non-members", strangers, "Items that the model has not seen"),
    field("A file of non-members", file), h("button", {}, "Audit"));
  const empty = note("There is no model and no data yet. Choose a file and compile it, or start the page with --model DIR.");
  const about = "What a model has memorised of an item is the code length of the item under a reference minus its code length under the model. Every figure is observed: a float run, not a proof.";
  const { said, progress, result } = layout(root, about, empty, form);

  const send = (one) => attempt(said, async () => {
    strangers.wanted = (await upload(one, "strangers")).file;
  });
  function submit(event) {
    event.preventDefault();
    const given = { model: select.value, reference: reference.value };
    if (strangers.value) given.strangers = strangers.value;
    return attempt(said, () => begin("audit", given));
  }

  return (state) => {
    const models = state.models.filter((x) => x.method);
    const ready = models.length > 0 && state.data;
    empty.hidden = Boolean(ready);
    form.hidden = !ready;
    refill(select, models);
    const given = models.filter((x) => x.checkpoint);
    fill(reference, given.map((x) => x.id), () => [["uniform", "uniform over the vocabulary"], ["unigram", "unigram: frequencies of the data"], ...given.map((x) => [x.id, x.name])].map(option));
    fill(strangers, [state.files.map((x) => x.id), given.length], () => [["", "none"], ...(given.length ? [["random", "random tokens (checkpoints only)"]] : []), ...state.files.map((x) => [x.id, x.name])].map(option));
    if (strangers.wanted && state.files.some((x) => x.id === strangers.wanted)) {
      strangers.value = strangers.wanted;
      strangers.wanted = null;
    }
    const job = latest(state, (x) => x.task === "audit");
    progress.update(job);
    outcome(result, job, audited);
  };
}

function audited(found, job) {
  const label = "Left: bits memorised of each item, against non-members if there are any. Right: what is held beside what could be held.";
  const frame = framed(job.id, found.picture, "Items, and what the model could hold", label);
  const place = h("div");
  const numbers = { predicted: "predicted", bits: "bits", reference: "reference_bits", memorised: "memorised" };
  const columns = [
    { title: "item", number: true, cell: (x) => number(x.item) },
    ...Object.entries(numbers).map(([title, key]) => ({ title, number: true, cell: (x) => number(x[key]) })),
    { title: "accuracy", number: true, cell: (x) => `${(100 * x.accuracy).toFixed(1)} %` },
    { title: "verbatim", cell: (x) => (x.verbatim === null ? "-" : x.verbatim ? "yes" : "no") },
    { title: "exposure", number: true, cell: (x) => number(x.exposure) },
  ];
  const order = h("select", { onchange: () => show() }, [["items-memorised", "most memorised first"], ["items", "in the order of the data"]].map(option));
  const show = () => place.replaceChildren(windowed({ job: job.id, table: order.value, total: found.table, label: "Items", columns }));
  show();
  return [
    h("section", { class: "card verdict observed" }, h("p", { class: "stamp" }, evidence("observed")), lead(found.verdict)),
    ...found.notes.map((x) => note(`note: ${x}.`)),
    frame, lines(found.lines), h("h2", {}, "Item by item"), field("Order", order), place,
  ];
}

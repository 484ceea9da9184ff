// Compile: methods that apply with their sizes, one click, progress, and the proof.

import { Progress, attempt, checkbox, download, field, fill, h, layout, lead, leftOut, lines, note, number, outcome, plural, region, remark, stamped, table } from "./dom.js";
import { begin, jobOf, latest } from "./server.js";

const UNKNOWN = 20; // bits: an unknown input is told apart except with probability 2^-20

const FIRST = ["float64", "gpt2", "bit-extraction"]; // that are shown beside the default

const DEFAULT = { stores: "labels", options: { reject_unknown: {}, editable: {} } };

// The job that compares the methods for the data; it is asked for once the data is read.
export function comparison(state, rule = "refuse") {
  const read = state.data && jobOf(state, state.data.jobs.read);
  if (!read || read.status !== "done") return null;
  const found = jobOf(state, state.data.jobs.compare);
  const fits = found && (found.asked.on_conflict ?? "refuse") === rule;
  if (!fits) {
    const asked = `${read.id} ${rule}`;
    if (comparison.asked !== asked) {
      comparison.asked = asked;
      begin("compare", rule === "refuse" ? {} : { on_conflict: rule }).catch(() => {});
    }
    return null;
  }
  return found;
}

export function compile(root, go) {
  const rule = h("select", {}, ["refuse", "majority", "drop"].map((x) => h("option", { value: x }, x)));
  const rules = field("Contexts with two labels", rule, "refuse, take the majority's label, or drop them (--on-conflict)");
  rules.hidden = true;
  const unknown = checkbox('Answer "unknown" to inputs that are not in the data', false, `--reject-unknown ${UNKNOWN}: about ${UNKNOWN} bits more per context; errs with probability 2^-${UNKNOWN}`);
  const editable = checkbox("Make it editable", false, "--editable: somewhat larger; items can be changed and forgotten later");
  const first = h("button", { type: "button", onclick: () => start(DEFAULT) }, "Compile");
  const choices = h("div", {}, h("div", { class: "fields" }, rules, unknown.element, editable.element),
    h("p", {}, first, h("span", { class: "remark" }, " with the default method, or choose one below")));
  const { said, progress, result } = layout(root, "Every method builds a network from a theorem and proves it on every item before you see it.");
  const comparing = new Progress();
  const methods = h("div");
  root.append(choices, comparing.element, methods);
  let state = null;
  rule.addEventListener("change", () => update(state));

  function start(about) {
    const options = {};
    if (unknown.input.checked && "reject_unknown" in about.options) options.reject_unknown = UNKNOWN;
    if (editable.input.checked && "editable" in about.options) options.editable = true;
    const given = { options };
    if (about.method) given.method = about.method;
    if (about.form) given.form = about.form;
    if (!rules.hidden && rule.value !== "refuse" && about.stores === "labels") given.on_conflict = rule.value;
    return attempt(said, async () => {
      await begin("compile", given);
      scrollTo({ top: 0 });
    });
  }

  function update(now) {
    state = now;
    const read = state.data && jobOf(state, state.data.jobs.read);
    const ready = read && read.status === "done";
    choices.hidden = !ready;
    rules.hidden = !(ready && read.summary.conflicts);
    const job = latest(state, (x) => x.task === "compile");
    progress.update(job);
    first.disabled = job?.status === "running";
    const model = state.models.find((x) => x.job === job?.id);
    outcome(result, job, (found) => proved(found, model, go));
    const compared = comparison(state, rules.hidden ? "refuse" : rule.value);
    comparing.update(compared);
    if (!ready) fill(methods, [], () => note("Choose a file on the first screen."));
    else outcome(methods, compared, (found) => listed(found, first.disabled, start), first.disabled);
  }
  return update;
}

function listed(found, busy, start) {
  const known = found.rows.filter((row) => row.kind === "construction" && found.methods[row.name]);
  const applies = known.filter((row) => row.applies || /tokenizer|several columns/.test(row.reason)); // the file itself is split again
  const best = applies.find((row) => ["hash-fold-retrieve", "seq2seq (small)"].includes(row.name));
  const order = best ? [best, ...applies.filter((row) => row !== best)] : applies;
  const first = order.filter((row) => row === best || FIRST.includes(row.name));
  const rest = order.filter((row) => !first.includes(row));
  const list = (label, shown) => region("", label, table(["", "method", "parameters", "bits", "depth", "what it builds"], (i) => i > 1 && i < 5,
      h("tbody", {}, shown.map((row) => {
        const about = found.methods[row.name];
        const estimated = (row.reason || "").startsWith("estimated");
        return h("tr", {},
          h("td", {}, h("button", { type: "button", disabled: busy, class: row === best ? null : "quiet", "aria-label": `Compile with ${row.name}`, onclick: () => start(about) }, "Compile")),
          h("th", { scope: "row" }, row.name, row === best ? h("span", { class: "tag" }, "default") : null),
          h("td", { class: "number" }, row.parameters === null ? h("span", { class: "remark" }, "by a search") : (estimated ? "~ " : "") + number(row.parameters)),
          h("td", { class: "number" }, number(row.bits)),
          h("td", { class: "number" }, number(row.depth)),
          h("td", { class: "remark" }, `${about.summary} ${about.paper === "none" ? "" : `${about.paper}, `}${about.item}`));
      }))));
  return [
    h("h2", {}, plural(applies.length, "method") + " apply"),
    list("Methods that apply", first.length ? first : rest),
    first.length && rest.length ? h("details", { class: "card" }, h("summary", {}, `${rest.length} more`), list("More methods", rest)) : null,
    remark("Sizes are predicted, without the options above, except that of the default method, which is built or estimated. Of exact networks the parameters that are not 0 count, of decoders all."),
    leftOut("method", known.filter((row) => !applies.includes(row)).map((row) => [row.name, row.reason])),
  ];
}

function proved(found, model, go) {
  return [
    stamped(found.verified.evidence, lead(found.verdict, "."),
      h("p", {}, h("button", { type: "button", onclick: () => go("ask") }, "Ask it"), " ", model ? download(`/models/${model.id}`, "Download the model folder (.zip)") : null)),
    h("div", { class: "two" },
      h("div", {}, h("h3", {}, "Size"), lines(found.lines), ...found.reading_notes.map((x) => note(`note: ${x}.`)), ...found.remarks.map((x) => note(x)), remark(`built in ${number(found.seconds.build)} s, verified in ${number(found.seconds.verify)} s`)),
      h("div", {}, h("h3", {}, "Certificate"), remark("What is claimed, on what evidence, and the hashes of the files. ", h("code", {}, "byheart verify DIR DATA --checker"), " repeats the proof with an independent program."),
        h("pre", { tabindex: "0", "aria-label": "certificate.json" }, JSON.stringify(found.certificate, null, 1)))),
  ];
}

// The saved page: its questions, and the answer of the one that is chosen.

const pageResult = h("div");
const pageButtons = saved.asked.map((one, i) => h("button", { type: "button", class: "quiet", onclick: () => choose(i) }, one.text));

function choose(index) {
  pageButtons.forEach((one, i) => one.setAttribute("aria-pressed", String(i === index)));
  pageResult.replaceChildren(...answered(saved.asked[index].answer, { id: index }).filter(present));
}

document.getElementById("main").append(
  h("h1", {}, "How a network answers"),
  lead(`${saved.model}: ${saved.method ?? "a network"} of ${plural(saved.parameters, "parameter")}${saved.evidence ? `, ${saved.evidence} on ${plural(saved.checked, "item")}` : ""}. Choose a question, and follow it stage by stage.`),
  h("div", { class: "items" }, pageButtons),
  pageResult);
choose(0);

// What the page asks the server, and the state that the server tells all pages.

const answers = new Map();
const KEPT = "byheart-token"; // in the storage of this tab and port, which no other server is sent

// Takes the token out of the address; the address of another start begins anew.
export function admit() {
  if (!location.hash.startsWith("#token=")) return false;
  sessionStorage.setItem(KEPT, location.hash.slice("#token=".length));
  history.replaceState(null, "", location.pathname);
  return true;
}

function ask(address, given = {}) {
  const headers = { ...given.headers, Authorization: `Bearer ${sessionStorage.getItem(KEPT)}` };
  return fetch(address, { ...given, headers });
}

async function checked(response) {
  if (response.ok) return response;
  let sentence = `The server refused this (${response.status}).`;
  try {
    sentence = (await response.json()).error || sentence;
  } catch {
    // not JSON: the code has to do
  }
  throw new Error(sentence);
}

export async function begin(task, given = {}) {
  const body = JSON.stringify({ task, arguments: given });
  const headers = { "Content-Type": "application/json" };
  const response = await ask("/jobs", { method: "POST", headers, body });
  return (await (await checked(response)).json()).job;
}

export async function stop(job) {
  await ask(`/jobs/${job}/stop`, { method: "POST" });
}

export async function upload(file, role = "data") {
  const address = `/data?name=${encodeURIComponent(file.name)}&role=${role}`;
  return (await checked(await ask(address, { method: "POST", body: file }))).json();
}

export async function example(name) {
  await checked(await ask(`/example?name=${name}`, { method: "POST" }));
}

// The answer of a job that is over; it never changes, so it is fetched once.
export function answer(job) {
  if (!answers.has(job)) {
    const found = ask(`/jobs/${job}/answer`).then(checked).then((x) => x.json());
    found.catch(() => answers.delete(job));
    answers.set(job, found);
  }
  return answers.get(job);
}

export async function rows(job, table, first, count) {
  return (await checked(await ask(`/jobs/${job}/tables/${table}?first=${first}&count=${count}`))).json();
}

export async function picture(job, name) {
  return (await checked(await ask(`/jobs/${job}/pictures/${name}`))).text();
}

// A file that the server sends, kept under the name that it has there.
export async function save(address) {
  const response = await checked(await ask(address));
  const link = document.createElement("a");
  link.download = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition"))[1];
  link.href = URL.createObjectURL(await response.blob());
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// Calls back with every new state. After a break it is asked for again, and the server tells all.
export async function follow(told, lost) {
  for (;;) {
    try {
      const response = await ask("/events");
      if (response.status === 403) return lost("refused");
      const reader = (await checked(response)).body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const lines = (text + part.value).split("\n");
        text = lines.pop();
        lost("");
        for (const line of lines) if (line.startsWith("data: ")) told(JSON.parse(line.slice(6)));
      }
    } catch {
      // cut off: told below
    }
    lost("lost");
    await new Promise((go) => setTimeout(go, 2000));
  }
}

export const jobOf = (state, id) => state.jobs.find((job) => job.id === id);
export const latest = (state, test) => state.jobs.filter(test).at(-1);

// What the page asks the server, and the state that the server tells all pages.

const answers = new Map();

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
  const response = await fetch("/jobs", { method: "POST", headers, body });
  return (await (await checked(response)).json()).job;
}

export async function stop(job) {
  await fetch(`/jobs/${job}/stop`, { method: "POST" });
}

export async function upload(file, role = "data") {
  const address = `/data?name=${encodeURIComponent(file.name)}&role=${role}`;
  return (await checked(await fetch(address, { method: "POST", body: file }))).json();
}

export async function example() {
  await checked(await fetch("/example", { method: "POST" }));
}

// The answer of a job that is over; it never changes, so it is fetched once.
export function answer(job) {
  if (!answers.has(job)) {
    const found = fetch(`/jobs/${job}/answer`).then(checked).then((x) => x.json());
    found.catch(() => answers.delete(job));
    answers.set(job, found);
  }
  return answers.get(job);
}

export async function rows(job, table, first, count) {
  return (await checked(await fetch(`/jobs/${job}/tables/${table}?first=${first}&count=${count}`))).json();
}

export async function picture(job, name) {
  return (await checked(await fetch(`/jobs/${job}/pictures/${name}`))).text();
}

// Calls back with every new state. A browser reconnects by itself; the server then tells all again.
export function follow(told, lost) {
  const events = new EventSource("/events");
  events.onmessage = (event) => {
    lost(false);
    told(JSON.parse(event.data));
  };
  events.onerror = () => {
    lost(true);
    if (events.readyState === EventSource.CLOSED) setTimeout(() => follow(told, lost), 2000);
  };
}

export const jobOf = (state, id) => state.jobs.find((job) => job.id === id);
export const latest = (state, test) => state.jobs.filter(test).at(-1);

// What the server is asked. All addresses are relative, so that it may stand behind a proxy at another path.
import { by } from "./dom.js";

export class ServerError extends Error {}

const token = () => sessionStorage.getItem("deltic token");

export async function ask(path, options = {}) {
  const headers = { ...options.headers, ...(token() ? { Authorization: `Bearer ${token()}` } : {}) };
  const answer = await fetch(path, { ...options, headers });
  if (answer.status === 401) {
    await login();
    return ask(path, options);
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => null);
  throw new ServerError(said?.error?.message ?? `${answer.status} ${answer.statusText}`);
}

export const get = async (path, options) => (await ask(path, options)).json();

const of = (name) => `views/${encodeURIComponent(name)}`;

export const catalog = () => get("catalog");
export const status = (since) => get(`status${since === null ? "" : `?since=${since}`}`, { signal: AbortSignal.timeout(15000) });
export const rows = (name, limit) => get(`${of(name)}?limit=${limit}`, { headers: { Accept: "application/json" } });
export const plan = (name) => get(`${of(name)}/plan`);
export const why = (name, row) => get(`${of(name)}/why?row=${encodeURIComponent(JSON.stringify(row))}`);
export const query = (text) =>
  get("query", { method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" }, body: JSON.stringify({ text, limit: 1000 }) });

let asked = null;

function login() {
  asked ??= new Promise((resolve) => {
    const dialog = by("login");
    dialog.addEventListener("close", () => {
      sessionStorage.setItem("deltic token", by("token").value);
      asked = null;
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return asked;
}

// Calls `receive` with each change of a view after an epoch, until the signal aborts; goes on where a connection broke.
export async function follow(name, since, receive, tell, signal) {
  let position = since;
  while (!signal.aborted) {
    try {
      const answer = await ask(`${of(name)}/changes?since=${position}`, { signal, headers: { Accept: "text/event-stream" } });
      tell("live");
      for await (const event of events(answer.body)) {
        if (event.event === "error") throw new ServerError(JSON.parse(event.data).error);
        if (event.event !== "change") continue;
        const change = JSON.parse(event.data);
        position = change.epoch;
        receive(change);
      }
      tell("lost");
    } catch (error) {
      if (signal.aborted) return;
      tell("lost", error);
      if (error instanceof ServerError) return;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text = (text + value).replaceAll("\r\n", "\n");
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) yield event(text.slice(0, end));
  }
}

function event(text) {
  const fields = { event: "message", data: "" };
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, "");
  }
  return fields;
}

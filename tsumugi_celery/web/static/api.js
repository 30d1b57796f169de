// The REST interface. Addresses are relative to where this file was loaded from, so no prefix
// needs to be known: not the blueprint's, not a proxy's.

export const base = new URL("..", import.meta.url);
const TOKEN = `tsumugi-token:${base.pathname}`;
const PATIENCE = 20_000;
let skew = 0;

/** The server's present, epoch ms: countdowns are right where the browser's clock is not. */
export const now = () => Date.now() + skew;

/**
 * What went wrong. `kind`: "gone" (no answer), "away" (the ledger), "unauthorised", "unknown"
 * (404), "refused" (another answer that says why) or "fault".
 */
export class Failure extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

/** Where no cookie is offered, the token stays in this tab. */
export const keptToken = {
  get: () => sessionStorage.getItem(TOKEN),
  set: (token) => sessionStorage.setItem(TOKEN, token),
  remove: () => sessionStorage.removeItem(TOKEN),
};

/** Get a value; with the `etag` of the last answer `{unchanged: true}` where it is the same. */
export async function get(path, etag = null) {
  const response = await ask(path, { headers: etag ? { "If-None-Match": etag } : {} });
  if (response.status === 304) return { unchanged: true, etag };
  return { value: await read(response), etag: response.headers.get("ETag") };
}

export async function send(path, method = "POST", body = null) {
  const headers = body === null ? {} : { "Content-Type": "application/json" };
  return read(await ask(path, { method, headers, body: body && JSON.stringify(body) }));
}

/** Return the address of a name's part of the interface. */
export const at = (kind, name, rest = "") => `api/${kind}/${encodeURIComponent(name)}${rest}`;

async function ask(path, options) {
  // The header is the proof that no other site has sent this.
  const headers = { Accept: "application/json", "X-Tsumugi-CSRF": "1", ...options.headers };
  const token = keptToken.get();
  if (token) headers.Authorization = `Bearer ${token}`;
  try {
    const response = await fetch(new URL(path, base), {
      ...options,
      headers,
      cache: "no-store",
      // The interface never sends one elsewhere; a login page in front of it does.
      redirect: "manual",
      credentials: "same-origin",
      signal: AbortSignal.timeout(PATIENCE),
    });
    learnTime(response);
    return response;
  } catch {
    throw new Failure("gone", "The server does not answer.");
  }
}

async function read(response) {
  const isJson = (response.headers.get("Content-Type") ?? "").includes("json");
  let value = null;
  try {
    if (isJson) value = await response.json();
  } catch {
    throw new Failure("gone", "The answer of the server broke off.");
  }
  if (response.ok && isJson) return value;
  if (response.type === "opaqueredirect") {
    throw new Failure("unauthorised", "You are not signed in any more.");
  }
  const message = value?.error?.message ?? `The server answered ${response.status}.`;
  throw new Failure(kindOf(response, isJson), message);
}

function kindOf(response, isJson) {
  // A page in place of an answer: someone in between asks to sign in.
  if (response.status === 401 || response.ok) return "unauthorised";
  if (response.status === 503 && isJson) return "away";
  if (response.status >= 502 && !isJson) return "gone";
  if (response.status === 404) return "unknown";
  return response.status < 500 || response.status === 502 ? "refused" : "fault";
}

function learnTime(response) {
  const date = Date.parse(response.headers.get("Date") ?? "");
  if (Number.isNaN(date)) return;
  // The header has whole seconds: half of one is the best guess, and small differences are none.
  const difference = date + 500 - Date.now();
  skew = Math.abs(difference) > 2000 ? difference : 0;
}

// Signing in and out: the token becomes a cookie, stays in this tab, or is the app's own affair.

import { $, setAttribute, setText, show } from "./dom.js";
import { get, keptToken, send } from "./api.js";

const way = document.body.dataset.signIn;
const followers = [];

export const onSignIn = (follow) => followers.push(follow);

/** Show the form in place of the page. */
export function askToSignIn() {
  if (!$("sign-in").hidden) return;
  show($("sign-in"));
  show($("content"), false);
  show($("sign-out"), false);
  setText($("live-text"), "Signed out");
  setAttribute($("live"), "data-state", "waiting");
  ($("token") ?? $("sign-in-title")).focus();
}

/** Show the page; `then` starts it. Where the server has let nobody in, the form is there first. */
export function start() {
  if (way === "token" && keptToken.get()) enter();
  else if (!$("sign-in").hidden) $("token")?.focus();
  else followers.forEach((follow) => follow());
}

function enter() {
  show($("sign-in"), false);
  show($("content"));
  show($("sign-out"), way !== "app");
  followers.forEach((follow) => follow());
}

async function signIn(token) {
  if (way === "cookie") {
    await send("api/session", "POST", { token });
    return;
  }
  keptToken.set(token);
  try {
    await get("api/schedules?limit=1");
  } catch (failure) {
    keptToken.remove();
    throw failure;
  }
}

function complain(text) {
  setText($("sign-in-error"), text);
  setAttribute($("token"), "aria-invalid", text ? "true" : null);
}

$("sign-in-form")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const field = $("token");
  const button = event.target.querySelector("button");
  complain("");
  button.disabled = true;
  try {
    await signIn(field.value.trim());
    field.value = "";
    enter();
    $("content").focus();
  } catch (failure) {
    complain(failure.kind === "unauthorised" ? "This token is not right." : failure.message);
    field.focus();
    field.select();
  } finally {
    button.disabled = false;
  }
});

$("sign-in-again")?.addEventListener("click", () => location.reload());

$("sign-out").addEventListener("click", async () => {
  keptToken.remove();
  try {
    if (way === "cookie") await send("api/session", "DELETE");
  } finally {
    location.reload();
  }
});

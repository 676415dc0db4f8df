// Fetches the page again every few seconds and replaces its regions. Without it the pages are complete, only not live.

const interval = 5000;
const live = document.getElementById("live");
const parser = new DOMParser();
const storageKey = "martlet-paused";

let timer = 0;
let isFetching = false;
let isPaused = false;
let lastUpdate = new Date();

// Makes an element that shows the state, and a button that pauses.
const state = document.createElement("span");
state.setAttribute("role", "status");
const button = document.createElement("button");
button.type = "button";

function show(kind, text) {
  live.className = `live ${kind}`;
  // An unchanged status is not announced again.
  if (state.textContent !== text) state.textContent = text;
  button.textContent = isPaused ? "Resume" : "Pause";
  button.setAttribute("aria-label", isPaused ? "Resume updates" : "Pause updates");
}

function clock(date) {
  return date.toISOString().slice(11, 19) + " UTC";
}

function pageAddress() {
  const address = new URL(location.href);
  address.searchParams.delete("notice");
  address.hash = "";
  return address;
}

// Whether an operator is doing something in a region, which must not vanish.
function isInUse(region) {
  const selection = document.getSelection();
  if (selection && !selection.isCollapsed && selection.containsNode(region, true)) return true;
  for (const field of region.querySelectorAll("input, select, textarea")) {
    if (field.type === "hidden") continue;
    if (field === document.activeElement && field.type !== "checkbox") return true;
    if (field.type === "checkbox" || field.type === "radio") {
      if (field.checked !== field.defaultChecked) return true;
    } else if (field.tagName === "SELECT") {
      const initial = [...field.options].find((option) => option.defaultSelected) ?? field.options[0];
      if (initial && field.value !== initial.value) return true;
    } else if (field.value !== field.defaultValue) return true;
  }
  return false;
}

// What tells an element apart from the others of its region.
function mark(element) {
  return [element.tagName, element.id, element.getAttribute("href"), element.getAttribute("name"),
    element.getAttribute("value"), element.getAttribute("aria-label"), element.textContent.trim().slice(0, 80)].join("|");
}

function focusable(region) {
  return [...region.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")];
}

// Keeps open details, scroll positions and the focus.
function replace(region, fresh) {
  const open = [...region.querySelectorAll("details[id]")].filter((one) => one.open).map((one) => one.id);
  const closed = [...region.querySelectorAll("details[id]")].filter((one) => !one.open).map((one) => one.id);
  const scrolled = [...region.querySelectorAll(".table, pre")].map((one) => [one.scrollLeft, one.scrollTop]);
  const active = region.contains(document.activeElement) ? document.activeElement : null;
  const focusMark = active && mark(active);
  const focusPlace = active ? focusable(region).indexOf(active) : -1;

  region.replaceChildren(...document.importNode(fresh, true).childNodes);

  for (const one of region.querySelectorAll("details[id]")) {
    if (open.includes(one.id)) one.open = true;
    else if (closed.includes(one.id)) one.open = false;
  }
  region.querySelectorAll(".table, pre").forEach((one, place) => {
    if (scrolled[place]) [one.scrollLeft, one.scrollTop] = scrolled[place];
  });
  if (!active) return;
  const elements = focusable(region);
  const next = elements.find((one) => mark(one) === focusMark) ?? elements[focusPlace];
  next?.focus({ preventScroll: true });
}

// Tokens of forms differ in every answer, which is no change of the page.
function content(region) {
  return region.innerHTML.replace(/(name="form" value=")[^"]*/g, "$1");
}

function update(text) {
  const fresh = parser.parseFromString(text, "text/html");
  for (const region of document.querySelectorAll("[data-region]")) {
    const next = fresh.querySelector(`[data-region="${CSS.escape(region.dataset.region)}"]`);
    if (!next || content(next) === content(region) || isInUse(region)) continue;
    replace(region, next);
  }
}

async function refresh() {
  if (isFetching || isPaused || document.hidden) return;
  isFetching = true;
  try {
    const answer = await fetch(pageAddress(), {
      headers: { Accept: "text/html" }, credentials: "same-origin", cache: "no-store", signal: AbortSignal.timeout(10000),
    });
    // The session has ended: the page itself leads to the sign-in page.
    if (answer.redirected || answer.status === 401 || answer.status === 403) return location.reload();
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    update(await answer.text());
    lastUpdate = new Date();
    if (!isPaused) show("", "Live");
  } catch {
    if (!isPaused) show("lost", `Connection lost, as of ${clock(lastUpdate)}`);
  } finally {
    isFetching = false;
  }
}

function schedule() {
  clearInterval(timer);
  timer = 0;
  if (isPaused) return show("paused", `Paused, as of ${clock(lastUpdate)}`);
  show("", "Live");
  if (!document.hidden) timer = setInterval(refresh, interval);
}

function remember(value) {
  try {
    value ? sessionStorage.setItem(storageKey, "1") : sessionStorage.removeItem(storageKey);
  } catch { /* The browser stores nothing: the choice is for this page only. */ }
}

function remembered() {
  try {
    return sessionStorage.getItem(storageKey) === "1";
  } catch {
    return false;
  }
}

if (live && "refresh" in document.body.dataset) {
  isPaused = remembered();
  live.append(state, button);
  live.hidden = false;
  button.addEventListener("click", () => {
    isPaused = !isPaused;
    remember(isPaused);
    schedule();
    refresh();
  });
  document.addEventListener("visibilitychange", () => {
    schedule();
    refresh();
  });
  schedule();
}

// A message is shown once: a reload, or a copy of the address, does not ask for it again.
if (new URL(location.href).searchParams.has("notice")) {
  const address = new URL(location.href);
  address.searchParams.delete("notice");
  history.replaceState(history.state, "", address);
}

// One click sends a form once. The button stays in the form, because its value is the action.
document.addEventListener("submit", (event) => {
  if (event.target.method !== "post") return;
  if ("sent" in event.target.dataset) return event.preventDefault();
  event.target.dataset.sent = "";
});

// The browser shows this page again after "back": its forms can be sent again, and its content is old.
addEventListener("pageshow", (event) => {
  if (!event.persisted) return;
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  refresh();
});

// The menu of narrow screens closes with Escape, and with a click elsewhere.
const menu = document.getElementById("menu");
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !menu?.open) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
document.addEventListener("click", (event) => {
  if (menu?.open && !menu.contains(event.target)) menu.open = false;
});

// What `/v1/devices` says, asked each second: the devices of a token's user, and how quickly the user's revision rises.

"use strict";

const SECONDS = 120;
const RATE_OVER = 10;
const ASK_EVERY_MS = 1000;
const RETRY_AT_MOST_MS = 30_000;
const SVG = "http://www.w3.org/2000/svg";

const part = (id) => document.getElementById(id);
const counted = new Intl.NumberFormat("en");

/** Revisions as they were told: the last ones, each with its time in milliseconds. */
let told = [];

/** Which token is asked with; another one ends the asking of the one before. */
let asking;

/** How much later than it does now something was: `3 s`, `5 min`. */
function age(milliseconds) {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  return `${Math.round(seconds / 3600)} h ago`;
}

/** How far the revision rose within the last seconds. */
function risen(seconds) {
  const newest = told.at(-1);
  const before = told.findLast(({ at }) => at <= newest.at - seconds * 1000) ?? told[0];
  return { changes: newest.revision - before.revision, seconds: (newest.at - before.at) / 1000 };
}

/** Changes in each second up to the newest answer; where nothing was told, none. */
function eachSecond() {
  const newest = told.at(-1).at;
  const changes = new Array(SECONDS).fill(0);
  told.slice(1).forEach(({ at, revision }, place) => {
    const ago = Math.floor((newest - at) / 1000);
    if (ago < SECONDS) changes[SECONDS - 1 - ago] += Math.max(0, revision - told[place].revision);
  });
  return changes;
}

function drawn(kind, attributes, words) {
  const shape = document.createElementNS(SVG, kind);
  Object.entries(attributes).forEach(([name, value]) => shape.setAttribute(name, value));
  if (words !== undefined) shape.textContent = words;
  return shape;
}

function draw(changes) {
  // As wide as the page, so that its words have their own size.
  const chart = part("chart");
  const [width, height, left, top] = [chart.clientWidth, 120, 48, 16];
  chart.setAttribute("viewBox", `0 0 ${width} 140`);
  const most = Math.max(1, ...changes);
  const step = (width - left) / changes.length;
  const y = (value) => height - (value / most) * (height - top);
  const shapes = [0, most].flatMap((value) => [
    drawn("line", { x1: left, x2: width, y1: y(value), y2: y(value) }),
    drawn("text", { x: left - 6, y: y(value) + 4, "text-anchor": "end" }, counted.format(value)),
  ]);
  changes.forEach((value, place) => {
    if (value === 0) return;
    shapes.push(drawn("rect", { x: left + place * step, y: y(value), width: step * 0.8, height: height - y(value) }));
  });
  chart.replaceChildren(part("chart-title"), ...shapes);
}

function cell(words, classes, without) {
  const made = document.createElement("td");
  made.textContent = words ?? without;
  made.className = words === undefined ? `${classes} unknown` : classes;
  return made;
}

function row({ device, cursor, behind, idle_ms: idle, streams }) {
  const made = document.createElement("tr");
  const number = (value) => (value === undefined ? undefined : counted.format(value));
  made.append(
    cell(device, ""),
    cell(number(cursor), "number", "no download"),
    cell(number(behind), "number", "unknown"),
    cell(idle === undefined ? undefined : age(idle), "number", "none"),
    cell(number(streams), "number"),
  );
  return made;
}

function show({ user, revision, devices }) {
  const at = performance.now();
  // A history that began anew counts from its beginning.
  if (told.length > 0 && revision < told.at(-1).revision) told = [];
  told.push({ at, revision });
  told = told.filter((answer) => answer.at > at - (SECONDS + RATE_OVER) * 1000);
  const { changes, seconds } = risen(RATE_OVER);
  const known = devices.map(({ behind }) => behind).filter((behind) => behind !== undefined);
  part("whose").textContent = `The devices of ${user}, and how far each is.`;
  part("revision").textContent = counted.format(revision);
  part("rate").textContent = seconds > 0 ? counted.format(Math.round((10 * changes) / seconds) / 10) : "…";
  part("count").textContent = counted.format(devices.length);
  part("furthest").textContent = known.length > 0 ? counted.format(Math.max(...known)) : "…";
  part("devices").replaceChildren(...devices.map(row));
  part("shown").hidden = false;
  draw(eachSecond());
}

function tell(trouble) {
  part("trouble").textContent = trouble;
  part("trouble").hidden = trouble === "";
}

/** Asks once. Whether to ask again, and what is wrong. */
async function ask(token) {
  let answer;
  try {
    answer = await fetch("v1/devices", { headers: { authorization: `Bearer ${token}` }, cache: "no-store" });
  } catch {
    return { again: true, trouble: "The service does not answer. The page asks again." };
  }
  if (answer.ok) return { again: true, trouble: "", devices: await answer.json() };
  const { detail } = await answer.json().catch(() => ({ detail: `status ${answer.status}` }));
  return { again: answer.status === 429 || answer.status >= 500, trouble: `The service refuses: ${detail}` };
}

async function follow(token) {
  const mine = (asking = {});
  let pause = ASK_EVERY_MS;
  told = [];
  while (asking === mine) {
    const { again, trouble, devices } = await ask(token).catch((error) => ({ again: true, trouble: `${error}` }));
    if (asking !== mine) return;
    tell(trouble);
    if (devices !== undefined) show(devices);
    if (!again) return;
    pause = trouble === "" ? ASK_EVERY_MS : Math.min(2 * pause, RETRY_AT_MOST_MS);
    await new Promise((resolve) => setTimeout(resolve, pause));
    if (document.hidden) await new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
  }
}

part("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  part("shown").hidden = true;
  const token = part("token").value.trim();
  if (/[^!-~]/.test(token)) {
    asking = undefined;
    tell("That is no token: a token has letters, digits and signs of ASCII alone.");
    return;
  }
  follow(token);
});

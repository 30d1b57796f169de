// Times as people read them: on the wall clock of the schedule's zone, with the GMT offset then.

import { now } from "./api.js";

const formats = new Map();
const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function formatOf(zone) {
  if (!formats.has(zone)) {
    formats.set(
      zone,
      new Intl.DateTimeFormat("en-GB", {
        timeZone: zone,
        weekday: "short",
        year: "numeric",
        month: "2-digit",
        day: "2-digit",
        hour: "2-digit",
        minute: "2-digit",
        second: "2-digit",
        hourCycle: "h23",
        timeZoneName: "longOffset",
      }),
    );
  }
  return formats.get(zone);
}

/**
 * Return `{local, offset, zone}` of a moment, to the second; UTC where there is no zone or an
 * unknown one.
 */
export function inZone(ms, zone) {
  let known = zone ?? "UTC";
  let format;
  try {
    format = formatOf(known);
  } catch {
    known = "UTC";
    format = formatOf(known);
  }
  const part = {};
  for (const { type, value } of format.formatToParts(ms)) part[type] = value;
  const offset = part.timeZoneName === "GMT" ? "GMT+00:00" : part.timeZoneName;
  const date = `${part.year}-${part.month}-${part.day}`;
  const local = `${part.weekday} ${date} ${part.hour}:${part.minute}:${part.second}`;
  return { local, offset, zone: known };
}

/** Return the same for an ISO time that the server has put on the wall clock already. */
export function asTold(iso) {
  const [date, rest] = iso.split("T");
  const weekday = new Date(`${date}T00:00:00Z`).toLocaleDateString("en-GB", {
    weekday: "short",
    timeZone: "UTC",
  });
  return `${weekday} ${date} ${rest.slice(0, 8)}`;
}

export const iso = (ms) => new Date(ms).toISOString();

/** Return a moment exactly, and in the reader's own zone, for a title. */
export const here = (ms) => `${iso(ms)} (${inZone(ms, hereZone).local} in your time zone)`;
const hereZone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Return a length of time in its two largest units. */
export function length(ms) {
  const size = Math.abs(ms);
  if (size < 10 * SECOND) {
    const digits = size % SECOND === 0 ? 0 : size < SECOND ? 2 : 1;
    return `${(size / SECOND).toFixed(digits)} s`;
  }
  const seconds = Math.round(size / SECOND) * SECOND;
  if (seconds < MINUTE) return `${seconds / SECOND} s`;
  if (seconds < HOUR) return two(seconds, MINUTE, "min", SECOND, "s");
  if (seconds < DAY) return two(seconds, HOUR, "h", MINUTE, "min");
  return two(seconds, DAY, "d", HOUR, "h");
}

function two(ms, large, largeName, small, smallName) {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeName}${rest ? ` ${rest} ${smallName}` : ""}`;
}

/** Return how long until a moment; what is late by more than a beat's step is called so. */
export function countdown(ms) {
  const left = Math.ceil((ms - now()) / SECOND) * SECOND;
  if (left > 0) return `in ${left < MINUTE ? `${left / SECOND} s` : length(left)}`;
  if (left > -10 * SECOND) return "due now";
  return `${length(left)} late${left < -30 * SECOND ? ": is a beat running?" : ""}`;
}

/** The clock of this browser at a moment, for "since 12:03:05". */
export const clock = (ms) => inZone(ms, hereZone).local.slice(-8);

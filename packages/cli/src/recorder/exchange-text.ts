import type { Exchange, RecordedBody, Header } from "@idk/recorder/read";
import { foreign, formatBytes, printable } from "../output/text.ts";
import { momentText } from "./archive.ts";

const URL_MAX = 200;

/** An exchange on one line. */
export function exchangeLine(exchange: Exchange): string {
  const { id, time, ms, request, response, ended } = exchange;
  return [
    momentText(time),
    statusText(response?.status),
    durationText(ms).padStart(9),
    foreign(id, 40),
    foreign(request.method, 20).padEnd(6),
    foreign(request.url, URL_MAX) + (ended === undefined ? "" : ` (${ended})`),
  ].join("  ");
}

/** An exchange as JSON, without headers and bodies. */
export function exchangeSummary(exchange: Exchange): object {
  const { id, time, ms, direction, route, ended, request, response } = exchange;
  return {
    id,
    time,
    ms,
    direction,
    ...(route !== undefined && { route }),
    method: request.method,
    url: request.url,
    status: response?.status ?? 0,
    ...(ended !== undefined && { ended }),
    requestBytes: request.body?.size ?? 0,
    responseBytes: response?.body?.size ?? 0,
  };
}

/** All of an exchange for people. */
export function exchangeText(exchange: Exchange): string {
  const { id, time, ms, direction, route, ended, request, response } = exchange;
  const about = [
    `id        ${printable(id)}`,
    `time      ${momentText(time)} UTC, ${durationText(ms)}`,
    `direction ${direction === "in" ? "in: the application answered" : "out: the application asked"}`,
    ...(route === undefined ? [] : [`route     ${printable(route)}`]),
    ...(ended === undefined ? [] : [`ended     ${ended}`]),
  ];
  const http = request.http === undefined ? "" : ` HTTP/${printable(request.http)}`;
  const start = `${printable(request.method)} ${printable(request.url)}${http}`;
  const messages = [message(start, request.headers, request.body)];
  if (response === undefined) messages.push("no response");
  else {
    const { status, reason = "" } = response;
    messages.push(
      message(`${status} ${printable(reason)}`.trim(), response.headers, response.body),
    );
  }
  return [about.join("\n"), ...messages].join("\n\n");
}

function message(
  start: string,
  headers: readonly Header[],
  body: RecordedBody | undefined,
): string {
  const lines = [
    start,
    ...headers.map(([name, value]) => `${printable(name)}: ${printable(value)}`),
  ];
  return body === undefined ? lines.join("\n") : [lines.join("\n"), bodyText(body)].join("\n\n");
}

/** Line ends stay; `Output` escapes what acts on a terminal. */
function bodyText({ size, type, text, base64, cut, why }: RecordedBody): string {
  const what = `${formatBytes(size)}${type === undefined ? "" : ` of ${foreign(type)}`}`;
  if (why !== undefined) return `(${what}, not recorded: ${foreign(why)})`;
  if (base64 !== undefined) return `(${what}, recorded as base64: see idk recorder cat)`;
  const shown = (text ?? "").replaceAll("\r\n", "\n");
  return cut === true ? `${shown}\n(the beginning of ${what})` : shown;
}

function statusText(status: number | undefined): string {
  return status === undefined ? "---" : String(status).padStart(3);
}

/** `12.3 ms` or `4.20 s`. */
function durationText(ms: number): string {
  return ms < 1000 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

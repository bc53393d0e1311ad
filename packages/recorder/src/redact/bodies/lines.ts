import type { Work } from "../contract.ts";
import { redactJson } from "../json/redact-json.ts";
import { MASK } from "../rules/actions.ts";
import type { RuleSet } from "../rules/rule-set.ts";
import { redactPlainText } from "./plain-text.ts";

const LINE_FEED = 0x0a;
/** Begins each text of a JSON sequence (RFC 7464). */
const RECORD_SEPARATOR = 0x1e;

/**
 * Redacts lines of JSON, each for itself.
 *
 * @returns undefined if one of them is not JSON
 */
export function* redactJsonLines(
  bytes: Buffer,
  isCut: boolean,
  rules: RuleSet,
): Work<Buffer | undefined> {
  const parts: Uint8Array[] = [];
  for (let start = 0; start < bytes.length;) {
    const feed = bytes.indexOf(LINE_FEED, start);
    const end = feed === -1 ? bytes.length : feed;
    if (bytes[start] === RECORD_SEPARATOR) {
      parts.push(bytes.subarray(start, start + 1));
      start += 1;
    }
    const line = bytes.subarray(start, end);
    if (line.toString("latin1").trim() !== "") {
      const redacted = yield* redactJson(line, isCut && feed === -1, rules);
      if (redacted === "broken") return undefined;
      if (redacted !== "dropped") parts.push(redacted);
    }
    if (feed !== -1) parts.push(bytes.subarray(feed, feed + 1));
    start = end + 1;
    yield;
  }
  return Buffer.concat(parts);
}

const DATA = /^data: ?/u;

/**
 * Redacts server-sent events: consecutive `data` lines are one value, which may be JSON. If it begins
 * like JSON and is none, it is masked. What is not JSON is plain text. Where something is replaced, lines end in line feeds.
 */
export function* redactEvents(text: string, isCut: boolean, rules: RuleSet): Work<string> {
  const redacted: string[] = [];
  let isChanged = false;
  let data: string[] = [];
  const endData = function* (isLast: boolean): Work<void> {
    if (data.length === 0) return;
    const value = data.join("\n");
    const by = yield* redactData(value, isCut && isLast, rules);
    isChanged ||= by !== value;
    redacted.push(...by.split("\n").map((line) => `data: ${line}`));
    data = [];
  };
  const lines = text.split(/\r\n|\n|\r/u);
  const last = lines.length - 1;
  for (const [index, line] of lines.entries()) {
    if (DATA.test(line)) data.push(line.replace(DATA, ""));
    else {
      yield* endData(false);
      const by = yield* redactPlainText(line, isCut && index === last, rules);
      isChanged ||= by !== line;
      redacted.push(by);
    }
    yield;
  }
  yield* endData(true);
  return isChanged ? redacted.join("\n") : text;
}

function* redactData(value: string, isCut: boolean, rules: RuleSet): Work<string> {
  if (!/^\s*["{[]/u.test(value)) return yield* redactPlainText(value, isCut, rules);
  const result = yield* redactJson(Buffer.from(value), isCut, rules);
  return typeof result === "string" ? MASK : Buffer.from(result).toString();
}

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
  let done = 0;
  for (let start = 0; start < bytes.length;) {
    const feed = bytes.indexOf(LINE_FEED, start);
    const end = feed === -1 ? bytes.length : feed;
    if (bytes[start] === RECORD_SEPARATOR) start += 1;
    const line = bytes.subarray(start, end);
    if (line.toString("latin1").trim() !== "") {
      const redacted = yield* redactJson(line, isCut && feed === -1, rules);
      if (redacted === "broken") return undefined;
      if (redacted !== line) {
        parts.push(bytes.subarray(done, start));
        if (redacted !== "dropped") parts.push(redacted);
        done = end;
      }
    }
    start = end + 1;
    yield;
  }
  parts.push(bytes.subarray(done));
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
    for (const line of by.split("\n")) redacted.push(`data: ${line}`);
    data = [];
  };
  for (const [line, isLast] of linesOf(text)) {
    if (DATA.test(line)) data.push(line.replace(DATA, ""));
    else {
      yield* endData(false);
      const by = yield* redactPlainText(line, isCut && isLast, rules);
      isChanged ||= by !== line;
      redacted.push(by);
    }
    yield;
  }
  yield* endData(true);
  return isChanged ? redacted.join("\n") : text;
}

function* linesOf(text: string): Generator<[line: string, isLast: boolean]> {
  let start = 0;
  for (const { 0: end, index } of text.matchAll(/\r\n|\n|\r/gu)) {
    yield [text.slice(start, index), false];
    start = index + end.length;
  }
  yield [text.slice(start), true];
}

function* redactData(value: string, isCut: boolean, rules: RuleSet): Work<string> {
  if (!/^\s*["{[]/u.test(value)) return yield* redactPlainText(value, isCut, rules);
  const result = yield* redactJson(Buffer.from(value), isCut, rules);
  return typeof result === "string" ? MASK : Buffer.from(result).toString();
}

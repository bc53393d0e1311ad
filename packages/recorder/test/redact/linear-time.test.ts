import { expect, test } from "bun:test";
import { redactedBody, redactedHeader, redactedUrl } from "./support.ts";

/*
 * Content with which a search that goes back would take time in proportion to the square of the
 * length: eight times the length may take at most 24 times as long.
 */

const options = { maxDecodedBytes: 2 ** 24 };
const json = (text: string): unknown => redactedBody(text, "application/json", [], {}, options);
const cutJson = (text: string): unknown =>
  redactedBody(text, "application/json", [], { cut: true }, options);
const plain = (text: string): unknown => redactedBody(text, "text/plain", [], {}, options);
const form = (text: string): unknown =>
  redactedBody(text, "application/x-www-form-urlencoded", [], {}, options);
const header = (text: string): unknown => redactedHeader("x-note", text);
const events = (text: string): unknown => redactedBody(text, "text/event-stream", [], {}, options);

const inString = (text: string): string => `["${text}"]`;

const cases: readonly (readonly [
  name: string,
  work: (text: string) => unknown,
  make: (n: number) => string,
])[] = [
  ["levels", json, (n) => "[".repeat(n) + "]".repeat(n)],
  ["open levels", cutJson, (n) => '{"a":'.repeat(n)],
  ["members", json, (n) => `{${'"a":1,'.repeat(n)}"b":2}`],
  [
    "different members",
    json,
    (n) => `{${Array.from({ length: n }, (_, at) => `"k${at}":1`).join()}}`,
  ],
  ["secret members", json, (n) => `{${'"token":1,'.repeat(n)}"b":2}`],
  ["escapes", json, (n) => inString("\\u0041\\n".repeat(n))],
  ["an escape that is cut", cutJson, (n) => `["${"\\u0041".repeat(n)}\\u00`],
  ["a long number", json, (n) => "1".repeat(8 * n)],
  ["beginnings of tokens", json, (n) => inString("eyJ".repeat(n))],
  [
    "tokens",
    json,
    (n) => `[${inString("eyJaaaaaaaaaaaaa.a.a").repeat(n).replaceAll("][", "],[")}]`,
  ],
  ["dots", header, (n) => `eyJ${".".repeat(n)}`],
  ["slashes", header, (n) => "/".repeat(n)],
  ["authorities", header, (n) => "//a".repeat(n)],
  ["an authority", header, (n) => `//${"a@".repeat(n)}`],
  ["equals signs", header, (n) => "=".repeat(n)],
  ["parameters", header, (n) => "a=&".repeat(n)],
  ["secret parameters", header, (n) => "token=".repeat(n)],
  ["quoted parameters", header, (n) => `token="`.repeat(n)],
  ["quoted names", header, (n) => `'a':`.repeat(n)],
  ["quotes", header, (n) => `"`.repeat(n)],
  ["encoded text", header, (n) => "%25".repeat(n)],
  ["encoded parameters", header, (n) => "a%3Db%26".repeat(n)],
  ["encoded text without delimiters", header, (n) => `${"a".repeat(n)}%zz`],
  ["names of many parts", header, (n) => "a:=".repeat(n)],
  ["a long name", header, (n) => `${"a".repeat(n)}=`],
  ["long names", header, (n) => `${"a".repeat(100)}=`.repeat(n / 16)],
  ["digits", header, (n) => "1".repeat(n)],
  ["groups of digits", header, (n) => "444 ".repeat(n)],
  ["single digits", header, (n) => "4 ".repeat(n)],
  ["a digit and spaces", header, (n) => `4${" ".repeat(n)}`],
  ["digits and spaces", header, (n) => `${"4 ".repeat(n)}${" ".repeat(n)}x`],
  ["colons", plain, (n) => ":".repeat(n)],
  ["names in text", plain, (n) => "a:".repeat(n)],
  ["lines", plain, (n) => "a\n".repeat(n)],
  ["names at the ends of lines", plain, (n) => `${"a".repeat(60)}:\n`.repeat(n / 16)],
  ["secret names at the ends of lines", plain, (n) => "token:\n\n".repeat(n)],
  ["equals signs at the ends of lines", header, (n) => "token=\n\n".repeat(n)],
  ["lines of data", events, (n) => "data: a\n".repeat(n)],
  ["fields", form, (n) => "a=1&".repeat(n)],
  ["percent signs", form, (n) => "%41=%42&".repeat(n)],
  ["a path", redactedUrl, (n) => "/%41".repeat(n)],
  ["a broken path", redactedUrl, (n) => "/%".repeat(n)],
  [
    "JSON in strings",
    json,
    (n) => JSON.stringify([JSON.stringify([JSON.stringify(["[".repeat(n)])])]),
  ],
];

/** The least processor time of several runs, in milliseconds, so that other programs matter less. */
function timeOf(work: (text: string) => unknown, text: string): number {
  let best = Infinity;
  for (let run = 0; run < 4; run++) {
    const start = process.cpuUsage();
    work(text);
    const { user, system } = process.cpuUsage(start);
    best = Math.min(best, (user + system) / 1000);
  }
  return best;
}

test.each(cases)(
  "%s take linear time",
  (_, work, make) => {
    const n = 16_384;
    timeOf(work, make(n));
    const short = timeOf(work, make(n));
    const long = timeOf(work, make(8 * n));
    // Below a millisecond, the clock and collections of garbage decide.
    expect(long / Math.max(short, 1)).toBeLessThan(24);
  },
  60_000,
);

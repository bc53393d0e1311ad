import { expect, test } from "bun:test";
import type { CapturedBody, Work } from "../../src/redact/contract.ts";
import { captured, finished, redactor } from "./support.ts";

/*
 * Content that any client may send. A search that goes back would take time in proportion to the
 * square of the length: eight times the length may take at most 24 times as long. And the event loop
 * gets its turn: no step takes longer than a text of 4 KiB as a whole, or 2 ms.
 */

type Redact = (text: string) => Work<unknown>;

const rules = Array.from({ length: 20 }, (_, index) => ({
  name: `*field${index}*`,
  action: "hash" as const,
}));
const exchange = redactor(rules, { maxDecodedBytes: 2 ** 24 }).for({ url: "/" });

const body =
  (type: string, more: Partial<CapturedBody> = {}): Redact =>
  (text) =>
    exchange.body(captured(text, type, more));

const json = body("application/json");
const cutJson = body("application/json", { cut: true });
const jsonLines = body("application/x-ndjson");
const plain = body("text/plain");
const form = body("application/x-www-form-urlencoded");
const events = body("text/event-stream");
const headerNamed =
  (name: string): Redact =>
  (text) =>
    exchange.headers([[name, text]]);
const header = headerNamed("x-note");
const headers: Redact = (text) =>
  exchange.headers(text.split("\n").map((name) => [name, "1"] as const));
const url: Redact = (text) => redactor(rules).for({ url: text }).url();
const route: Redact = (text) => redactor(rules).for({ url: "/", route: text }).route();

/** Different short names. */
const names = (n: number, make: (name: string, number: number) => string, separator = ""): string =>
  Array.from({ length: n }, (_, number) => make(number.toString(36), number)).join(separator);

const inString = (text: string): string => `["${text}"]`;

const cases: readonly (readonly [name: string, redact: Redact, make: (n: number) => string])[] = [
  ["levels", json, (n) => "[".repeat(n) + "]".repeat(n)],
  ["open levels", cutJson, (n) => '{"a":'.repeat(n)],
  ["members", json, (n) => `{${'"a":1,'.repeat(n)}"b":2}`],
  ["different members", json, (n) => `{${names(n, (name) => `"${name}":1`, ",")}}`],
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
  ["names of two parts in text", plain, (n) => "a.b:".repeat(n)],
  ["names before tags in text", plain, (n) => "a.b:!".repeat(n)],
  ["lines", plain, (n) => "a\n".repeat(n)],
  ["names at the ends of lines", plain, (n) => `${"a".repeat(60)}:\n`.repeat(n / 16)],
  ["secret names at the ends of lines", plain, (n) => "token:\n\n".repeat(n)],
  ["lines of a value below its name", plain, (n) => `token: |\n${" a\n".repeat(n)}`],
  ["items of lists in a line", plain, (n) => `token:\n${"- ".repeat(n)}a`],
  ["equals signs at the ends of lines", header, (n) => "token=\n\n".repeat(n)],
  ["different hashed members", json, (n) => `{${names(n, (name) => `"${name}field1":1`, ",")}}`],
  ["members that are texts", json, (n) => `[${names(n, (name) => `"/?${name}=1"`, ",")}]`],
  ["parameters in a string", json, (n) => inString(names(n, (name) => `${name}=1`, "&"))],
  ["encoded parameters in a string", json, (n) => inString(names(n, (a) => `%25${a}%3D`))],
  ["a name of parameters", json, (n) => `{"${names(n, (name) => `${name}=1`, "&")}":1}`],
  ["a name of cards", json, (n) => `{"${"4111111111111111 ".repeat(n / 4)}":1}`],
  ["different lines of JSON", jsonLines, (n) => names(n, (name) => `{"${name}":1}`, "\n")],
  ["empty lines of JSON", jsonLines, (n) => "\n".repeat(n)],
  ["different parameters", header, (n) => names(n, (name) => `${name}=1`, "&")],
  ["parameters with hashes", header, (n) => names(n, (name) => `?${name}field1=1`)],
  ["encoded words", header, (n) => names(n, (name) => `%41${name} `)],
  ["beginnings of tokens with dots", header, (n) => "eyJ.".repeat(n)],
  ["beginnings of tokens with padding", header, (n) => "eyJ=.".repeat(n)],
  ["long beginnings of tokens", header, (n) => "eyJaaaaaaaaaaaaa.a ".repeat(n / 4)],
  ["userinfo", header, (n) => "//a@b ".repeat(n)],
  ["headers", headers, (n) => names(n, (name) => `a${name}`, "\n")],
  ["cookies", headerNamed("cookie"), (n) => names(n, (name) => `${name}=1`, "; ")],
  ["attributes of cookies", headerNamed("set-cookie"), (n) => `a=1${";path=//".repeat(n)}`],
  ["credentials", headerNamed("authorization"), (n) => "a ".repeat(n)],
  ["different names in text", plain, (n) => names(n, (name) => `${name}: v`, "\n")],
  ["different names in a line", plain, (n) => names(n, (name) => `${name}=1 `)],
  ["long names in a line", plain, (n) => names(n / 16, (a) => `${a.padEnd(80, "a")}: `)],
  ["secrets in a line", plain, (n) => "?pin=1&".repeat(n)],
  ["different lines of data", events, (n) => names(n, (name) => `data: ${name}=1`, "\n\n")],
  ["empty lines of events", events, (n) => "\n".repeat(n)],
  ["empty lines", plain, (n) => "\n".repeat(n)],
  ["different fields", form, (n) => names(n, (name) => `${name}=1`, "&")],
  ["encoded fields", form, (n) => names(n, (name) => `${name}=%2541%3D${name}`, "&")],
  ["a field with a long name", form, (n) => `${names(n, (name) => `${name}.`)}=1`],
  ["a query", url, (n) => `/?${names(n, (name) => `${name}=1`, "&")}`],
  ["a route", route, (n) => names(n, (name) => `/${name}=1`)],
  ["lines of data", events, (n) => "data: a\n".repeat(n)],
  ["fields", form, (n) => "a=1&".repeat(n)],
  ["percent signs", form, (n) => "%41=%42&".repeat(n)],
  ["a path", url, (n) => "/%41".repeat(n)],
  ["a broken path", url, (n) => "/%".repeat(n)],
  [
    "JSON in strings",
    json,
    (n) => JSON.stringify([JSON.stringify([JSON.stringify(["[".repeat(n)])])]),
  ],
];

/** Processor time, in milliseconds, so that other programs matter less. */
function timeOf(work: () => unknown): number {
  const start = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

const ROUNDS = 4;

/** The least of all rounds, in each of which both times are measured: the machine may become slower. */
function leastRatio(round: () => number): number {
  return Math.min(...Array.from({ length: ROUNDS }, round));
}

function timeOfAll(redact: Redact, text: string): number {
  return timeOf(() => finished(redact(text)));
}

/** Of 64 KiB. */
function timeOfMany(unit: string): number {
  return timeOfAll(plain, unit.repeat(65_536 / unit.length));
}

function warmUp(redact: Redact, text: string): void {
  for (let round = 0; round < ROUNDS; round++) timeOfAll(redact, text);
}

/**
 * The longest step, as a part of what `allowed` takes. Each takes the least part of several rounds, because
 * of collections of garbage.
 */
function ratioOfLongestStep(redact: Redact, text: string, allowed: () => number): number {
  const least: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const most = allowed();
    let work: Work<unknown> | undefined;
    let done = false;
    for (let step = 0; !done; step++) {
      const time = timeOf(() => {
        work ??= redact(text);
        done = work.next().done === true;
      });
      least[step] = Math.min(time / most, least[step] ?? Infinity);
    }
  }
  return least.reduce((longest, ratio) => Math.max(longest, ratio));
}

test.each(cases)(
  "%s take linear time",
  (_, redact, make) => {
    const n = 16_384;
    const [short, long] = [make(n), make(8 * n)];
    warmUp(redact, short);
    // Below a millisecond, the clock and collections of garbage decide.
    const ratio = leastRatio(() => timeOfAll(redact, long) / Math.max(timeOfAll(redact, short), 1));
    expect(ratio).toBeLessThan(24);
  },
  120_000,
);

test.each(cases)(
  "%s let the event loop have its turn",
  (_, redact, make) => {
    // As many as there may be in 64 KiB.
    const n = Math.floor((16_384 * 65_536) / Buffer.byteLength(make(16_384)));
    const [text, small] = [make(n), make(Math.ceil(n / 16))];
    warmUp(redact, text);
    // Half of what short lines take, which is 4 ms on an idle machine.
    const allowed = (): number => Math.max(timeOfAll(redact, small), timeOfMany("name: v\n") / 2);
    expect(ratioOfLongestStep(redact, text, allowed)).toBeLessThan(1);
  },
  120_000,
);

test("names between colons do not take long", () => {
  timeOfMany("name: v\n");
  // Less than that, and twenty times that if each name went on beyond its colons.
  expect(leastRatio(() => timeOfMany("a.b:") / timeOfMany("name: v\n"))).toBeLessThan(5);
});

import { type Command, Option } from "commander";
import type { OptionValue, Suite, SuiteOption } from "../suite.ts";
import { Usage } from "./usage.ts";

const YES_OR_NO = /^(?:true|false)$/u;

/**
 * Rewrites boolean flags to `--flag=true` or `--flag=false`, so that `--verbose hash-perf` does not
 * take `hash-perf` as the value of `--verbose`, while `--verbose true` works.
 */
export function withValues(args: readonly string[], booleans: ReadonlySet<string>): string[] {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const isValue = (i: number): boolean =>
    i < end && YES_OR_NO.test(args[i]!) && booleans.has(args[i - 1] ?? "");
  return args.flatMap((arg, i) => {
    if (isValue(i)) return [];
    if (i > end || !booleans.has(arg)) return [arg];
    return [`${arg}=${isValue(i + 1) ? args[i + 1] : "true"}`];
  });
}

export function booleanOption(flag: string, description: string): Option {
  return new Option(`${flag} [bool]`, description).argParser((text) => {
    if (YES_OR_NO.test(text)) return text === "true";
    throw new Usage(`${flag} must be true or false`);
  });
}

export function numberOption(flag: string, description: string, least: number): Option {
  return new Option(`${flag} <n>`, description).argParser((text) => {
    const value = Number(text);
    if (/^\d+$/u.test(text) && value >= least && value <= 0x7fffffff) return value;
    throw new Usage(`${flag} must be a whole number, ${least} or greater`);
  });
}

/** The options that suites declare, each once. */
export function suiteOptions(suites: readonly Suite[]): Map<string, SuiteOption> {
  return new Map(
    suites.flatMap(({ options = [] }) => options.map((option) => [option.name, option])),
  );
}

export function addSuiteOptions(program: Command, suites: readonly Suite[]): void {
  for (const { name, kind, description } of suiteOptions(suites).values()) {
    const takers = suites.filter(({ options = [] }) => options.some((own) => own.name === name));
    const text = `${takers.map((suite) => suite.name).join(", ")}: ${description}`;
    const flag = `--${name}`;
    const option = {
      boolean: () => booleanOption(flag, text),
      number: () => numberOption(flag, text, 0),
      text: () => new Option(`${flag} <text>`, text),
    }[kind]();
    program.addOption(option.helpGroup("Options of single suites:"));
  }
}

type Values = Readonly<Record<string, OptionValue>>;

/** The given values of the options that a suite declares. */
export function optionsOf({ options = [] }: Pick<Suite, "options">, given: Values): Values {
  return Object.fromEntries(
    options.flatMap(({ name }) => (given[name] === undefined ? [] : [[name, given[name]]])),
  );
}

const SIZE = /^(\d+(?:\.\d+)?)\s*(?:([kmg])(ib|b)?|b)?$/iu;

/** A larger size is probably a typing error. */
const MOST = 2 ** 40;

/**
 * Parses `64K,1MiB,10MB` into bytes, in the given order. K, M and G, with or without "iB", are powers
 * of 1024, as in the rest of the command; KB, MB and GB are powers of 1000, as in the rates of reports.
 *
 * @throws Usage
 */
export function parseSizes(text: string, flag: string): number[] {
  const sizes = text.split(",").map((item) => parseSize(item.trim(), flag));
  if (new Set(sizes).size < sizes.length) throw new Usage(`${flag} lists a size twice`);
  return sizes;
}

/** Parses `8` or `1,8`, in megabytes of 1,000,000 bytes. */
export function parseMegabytes(text: string, flag: string): number[] {
  if (/^[\d.,\s]+$/u.test(text)) return parseSizes(text.replaceAll(/[\d.]+/gu, "$&MB"), flag);
  throw new Usage(`${flag} must be numbers, such as 8 or 1,8`);
}

function parseSize(text: string, flag: string): number {
  const [, number, unit = " ", suffix = ""] = SIZE.exec(text) ?? [];
  const base = suffix.toLowerCase() === "b" ? 1000 : 1024;
  const bytes = Math.round(Number(number) * base ** " kmg".indexOf(unit.toLowerCase()));
  if (bytes >= 1 && bytes <= MOST) return bytes;
  throw new Usage(`${flag} must list sizes from 1 byte to 1 TiB, such as 64K, 1MiB or 10MB`);
}

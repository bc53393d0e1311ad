import { type Command, Option } from "commander";
import type { OptionValue, Suite, SuiteOption } from "../suite.ts";
import { Usage } from "./usage.ts";

const YES_OR_NO = /^(?:true|false)$/u;

/**
 * Rewrites boolean flags to `--flag=true` or `--flag=false`, so that `--verbose hash-perf` does not
 * take `hash-perf` as the value of `--verbose`, while `--verbose true` works.
 */
export function withValues(args: readonly string[], booleans: ReadonlySet<string>): string[] {
  const result: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!;
    if (arg === "--") return [...result, ...args.slice(i)];
    if (!booleans.has(arg)) {
      result.push(arg);
      continue;
    }
    const next = args[i + 1];
    if (next !== undefined && YES_OR_NO.test(next)) i += 1;
    result.push(`${arg}=${next !== undefined && YES_OR_NO.test(next) ? next : "true"}`);
  }
  return result;
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
  const options = new Map<string, SuiteOption>();
  for (const option of suites.flatMap(({ options = [] }) => options)) {
    const known = options.get(option.name);
    if (known !== undefined && known.kind !== option.kind) {
      throw new Error(`suites declare --${option.name} with different types`);
    }
    options.set(option.name, known ?? option);
  }
  return options;
}

export function addSuiteOptions(program: Command, suites: readonly Suite[]): void {
  for (const { name, kind, description } of suiteOptions(suites).values()) {
    const takers = suites.filter(({ options = [] }) => options.some((own) => own.name === name));
    const text = `${takers.map((suite) => suite.name).join(", ")}: ${description}`;
    const flag = `--${name}`;
    const option =
      kind === "boolean"
        ? booleanOption(flag, text)
        : kind === "number"
          ? numberOption(flag, text, 0)
          : new Option(`${flag} <text>`, text);
    program.addOption(option.helpGroup("Options of single suites:"));
  }
}

/**
 * Reads the values of suites' own options.
 *
 * @throws Usage if an option applies to no chosen suite
 */
export function readSuiteOptions(
  values: Readonly<Record<string, unknown>>,
  all: readonly Suite[],
  chosen: readonly Suite[],
): Readonly<Record<string, OptionValue>> {
  const given: Record<string, OptionValue> = {};
  const taken = suiteOptions(chosen);
  for (const name of suiteOptions(all).keys()) {
    const value = values[name] as OptionValue | undefined;
    if (value === undefined) continue;
    if (!taken.has(name)) {
      throw new Usage(
        `--${name} does not apply to ${chosen.map((suite) => suite.name).join(", ")}`,
      );
    }
    given[name] = value;
  }
  return given;
}

/** The given values of the options that the suite declares. */
export function optionsOf(
  { options = [] }: Suite,
  given: Readonly<Record<string, OptionValue>>,
): Readonly<Record<string, OptionValue>> {
  const own = options.flatMap(({ name }) => {
    const value = given[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(own);
}

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  k: 2 ** 10,
  m: 2 ** 20,
  g: 2 ** 30,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
};

const SIZE = /^(\d+(?:\.\d+)?)\s*([kmg]?i?b|[kmg])?$/iu;

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
  if (!/^[\d.,\s]+$/u.test(text)) throw new Usage(`${flag} must be numbers, such as 8 or 1,8`);
  return parseSizes(text.replaceAll(/([\d.]+)/gu, "$1MB"), flag);
}

function parseSize(text: string, flag: string): number {
  const [, number, unit = ""] = SIZE.exec(text) ?? [];
  const bytes = Math.round(Number(number) * (UNITS[unit.toLowerCase()] ?? Number.NaN));
  if (bytes >= 1 && bytes <= MOST) return bytes;
  throw new Usage(`${flag} must list sizes from 1 byte to 1 TiB, such as 64K, 1MiB or 10MB`);
}

/** What the command lines of `idk bench` and `idk bench compare` share. */
import { type Command, CommanderError, Option } from "commander";
import { Usage } from "./usage.ts";

const YES_OR_NO = /^(?:true|false)$/u;

/**
 * Parses a command line.
 *
 * @returns the help, if it was asked for
 * @throws Usage
 */
export function parseWith(program: Command, args: readonly string[]): string | undefined {
  let help = "";
  const writeOut = (text: string): unknown => (help += text);
  program.configureOutput({ writeOut, writeErr: () => {}, outputError: () => {} });
  try {
    program.helpOption("-h, --help", "print help").exitOverride();
    program.parse(withValues(args, program.options), { from: "user" });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return help;
    // Joins the two lines `error: unknown option '--jsn'` and `(Did you mean --json?)`.
    const line = error.message.replace(/^error: /u, "").replace(/\s*\n\s*\(Did/u, " (did");
    throw new Usage(line, { cause: error });
  }
}

/**
 * Rewrites boolean options to `--flag=true` or `--flag=false`, so that `--verbose hash-perf` does not
 * take `hash-perf` as the value of `--verbose`, while `--verbose true` works.
 */
function withValues(args: readonly string[], options: readonly Option[]): string[] {
  const isBoolean = (arg: string | undefined): boolean =>
    options.some(({ long, optional }) => optional && long === arg);
  const isValue = (i: number): boolean => YES_OR_NO.test(args[i] ?? "") && isBoolean(args[i - 1]);
  return args.flatMap((arg, i) => {
    if (isValue(i)) return [];
    return isBoolean(arg) ? [`${arg}=${isValue(i + 1) ? args[i + 1] : "true"}`] : [arg];
  });
}

/** No other option has an optional value. */
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
  const sizes = text.split(",").map((item) => {
    const [, number, unit = " ", suffix = ""] = SIZE.exec(item.trim()) ?? [];
    const base = suffix.toLowerCase() === "b" ? 1000 : 1024;
    const bytes = Math.round(Number(number) * base ** " kmg".indexOf(unit.toLowerCase()));
    if (bytes >= 1 && bytes <= MOST) return bytes;
    throw new Usage(`${flag} must list sizes from 1 byte to 1 TiB, such as 64K, 1MiB or 10MB`);
  });
  if (new Set(sizes).size < sizes.length) throw new Usage(`${flag} lists a size twice`);
  return sizes;
}

/** Parses `8` or `1,8`, in megabytes of 1,000,000 bytes. */
export function parseMegabytes(text: string, flag: string): number[] {
  if (/^[\d.,\s]+$/u.test(text)) return parseSizes(text.replaceAll(/[\d.]+/gu, "$&MB"), flag);
  throw new Usage(`${flag} must be numbers, such as 8 or 1,8`);
}

const LINE_RATE = /^(\d+(?:\.\d+)?)([kmg])bit$/iu;

/**
 * Parses `100mbit` into bytes per second: 8 bits are a byte, and k, m and g are powers of 1000.
 *
 * @throws Usage
 */
export function parseRate(text: string, flag: string): number {
  const [, number, unit = " "] = LINE_RATE.exec(text.trim()) ?? [];
  const rate = (Number(number) * 1000 ** " kmg".indexOf(unit.toLowerCase())) / 8;
  if (rate >= 1000 && rate <= 12.5e9) return rate;
  throw new Usage(`${flag} must be from 8kbit to 100gbit a second, such as 100mbit`);
}

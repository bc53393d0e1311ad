import { type Command, Option } from "commander";
import type { OptionValue, Suite, SuiteOption } from "../suite.ts";
import { Usage } from "./usage.ts";

const YES_OR_NO = /^(?:true|false)$/u;

/**
 * Gives every flag that is a yes or no its value by `=`, so that `--verbose hash-perf` and
 * `--verbose true` both mean what they look like.
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
    throw new Usage(`${flag} takes true or false`);
  });
}

export function numberOption(flag: string, description: string, least: number): Option {
  return new Option(`${flag} <n>`, description).argParser((text) => {
    const value = Number(text);
    if (/^\d+$/u.test(text) && value >= least && value <= 0x7fffffff) return value;
    throw new Usage(`${flag} takes a whole number from ${least} on`);
  });
}

/** The flags that suites have declared, once each. */
export function suiteOptions(suites: readonly Suite[]): Map<string, SuiteOption> {
  const options = new Map<string, SuiteOption>();
  for (const option of suites.flatMap(({ options = [] }) => options)) {
    const known = options.get(option.name);
    if (known !== undefined && known.kind !== option.kind) {
      throw new Error(`suites disagree on what --${option.name} takes`);
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
    program.addOption(option.helpGroup("Of single suites:"));
  }
}

/**
 * The values of suites' own flags.
 *
 * @throws Usage where one was given that no chosen suite takes
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
      throw new Usage(`--${name} is of no use to ${chosen.map((suite) => suite.name).join(", ")}`);
    }
    given[name] = value;
  }
  return given;
}

/** Of what was given, what the suite itself has declared. */
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

/**
 * The committed baseline: the ratios and counters of an earlier run, so that small changes that add up
 * over weeks are found. Each value is one line of the file, which a failure can point to.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { Usage } from "../command/usage.ts";
import { exactTarget, verdictOf } from "../harness/targets.ts";
import type { Machine, Report, SuiteResult, Target } from "../report/report.ts";

/** Changes when older readers would misread the file. */
const SCHEMA = "idk-bench-baseline/2";

/** The baseline of this repository. */
export const COMMITTED: string = join(import.meta.dirname, "../../../../benchmarks/baseline.json");

/** Why the baseline was changed. */
export interface Update {
  /** A day, ISO 8601. */
  readonly date: string;
  readonly revision?: string | undefined;
  readonly reason: string;
}

export interface BaselineSuite {
  /** The unfavourable end of the interval of each ratio, by the name of its target. */
  readonly ratios: Readonly<Record<string, number>>;
  readonly counters: Readonly<Record<string, number>>;
}

export interface Baseline {
  readonly schema: typeof SCHEMA;
  /** Ratios depend on the machine: on another one, only counters are compared. */
  readonly machine: Pick<Machine, "processor" | "cores">;
  /** The latest is the last. */
  readonly updates: readonly Update[];
  readonly suites: Readonly<Record<string, BaselineSuite>>;
}

const values = z.record(z.string(), z.number());
const baselineSchema: z.ZodType<Baseline> = z.strictObject({
  schema: z.literal(SCHEMA),
  machine: z.strictObject({ processor: z.string(), cores: z.number().int().positive() }),
  updates: z.array(
    z.strictObject({
      date: z.iso.date(),
      revision: z.string().optional(),
      reason: z.string().min(1),
    }),
  ),
  suites: z.record(z.string(), z.strictObject({ ratios: values, counters: values })),
});

/** @throws Usage if the file cannot be read or is no baseline */
export async function readBaseline(file: string): Promise<Baseline> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new Usage(`cannot read the baseline ${file}: --update-baseline REASON writes one`, {
      cause,
    });
  });
  try {
    return baselineSchema.parse(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new Usage(`${file} is not a baseline: ${why.replaceAll("\n", "; ")}`, { cause });
  }
}

/** Adds a target to the result of a suite for each of its values that the baseline has. */
export function compareWithBaseline(
  result: SuiteResult,
  { suites, machine }: Baseline,
  host: Baseline["machine"],
): SuiteResult {
  const same = host.processor === machine.processor && host.cores === machine.cores;
  const base = suites[result.suite];
  if (base === undefined || result.status !== "completed") return result;
  const { targets, counters } = result;
  const added: Target[] = [
    ...(same ? targets.flatMap((target) => driftOf(target, base.ratios[target.name])) : []),
    ...counters.flatMap(({ name, value, unit, tolerance = 0 }): Target[] => {
      const most = base.counters[name];
      if (most === undefined) return [];
      return [exactTarget(against(name), value, unit, { most: most * (1 + tolerance) })];
    }),
  ];
  return { ...result, targets: [...targets, ...added] };
}

function against(name: string): string {
  return `${name}, against the baseline`;
}

/** How much worse a ratio may get than the unfavourable end of its interval in the baseline. */
const DRIFT: Readonly<Record<Target["kind"], number>> = { cpu: 0.2, wall: 0.4, exact: 0.3 };

function driftOf(target: Target, base: number | undefined): Target[] {
  if (target.unit !== "ratio" || base === undefined) return [];
  const { name, value, unit, interval, kind, most } = target;
  const bound =
    most === undefined ? { least: base / (1 + DRIFT[kind]) } : { most: base * (1 + DRIFT[kind]) };
  const drift = { name: against(name), value, unit, ...bound, interval, kind };
  return [{ ...drift, verdict: verdictOf(drift) }];
}

function unfavourable({ name, value, interval, most }: Target): { name: string; value: number } {
  return { name, value: (most === undefined ? interval?.low : interval?.high) ?? value };
}

/**
 * What the baseline has and a full run with default settings did not measure, one sentence each: a target
 * that disappears must not pass.
 */
export function missingFrom(results: readonly SuiteResult[], { suites }: Baseline): string[] {
  return results.flatMap(({ suite, status, targets, counters }) => {
    const base = suites[suite];
    if (base === undefined || status !== "completed") return [];
    const measured = new Set([...targets, ...counters].map(({ name }) => name));
    return Object.keys({ ...base.ratios, ...base.counters })
      .filter((name) => !measured.has(name))
      .map((name) => `${suite}: "${name}" is in the baseline and was not measured`);
  });
}

/**
 * Replaces the suites of the report in the baseline and keeps the others.
 *
 * @throws Error if a suite did not complete
 */
export function updatedBaseline(
  { suites, machine, createdAt, revision }: Report,
  previous: Baseline | undefined,
  reason: string,
): Baseline {
  const bad = suites.filter(({ status }) => status !== "completed").map(({ suite }) => suite);
  if (bad.length > 0) {
    throw new Error(
      `the baseline was not updated, because of suites without results: ${bad.join(", ")}`,
    );
  }
  const own = suites.map(({ suite, targets, counters }): [string, BaselineSuite] => [
    suite,
    {
      ratios: byName(
        targets.filter(({ unit, name }) => unit === "ratio" && !isDrift(name)).map(unfavourable),
        4,
      ),
      counters: byName(counters, 12),
    },
  ]);
  const { processor, cores } = machine;
  const update = { date: createdAt.slice(0, 10), ...(revision && { revision }), reason };
  return {
    schema: SCHEMA,
    machine: { processor, cores },
    updates: [...(previous?.updates ?? []), update],
    suites: { ...previous?.suites, ...Object.fromEntries(own) },
  };
}

function isDrift(name: string): boolean {
  return name.endsWith(against(""));
}

function byName(
  items: readonly { readonly name: string; readonly value: number }[],
  digits: number,
): Record<string, number> {
  return Object.fromEntries(
    items.map(({ name, value }) => [name, Number(value.toPrecision(digits))]),
  );
}

export async function writeBaseline(file: string, baseline: Baseline): Promise<void> {
  await writeFile(file, `${JSON.stringify(baselineSchema.parse(baseline), undefined, 2)}\n`);
}

/**
 * The line of the file with a value of a suite, counted from 1, or 1.
 *
 * @param target its name, with or without the words that mark a comparison with the baseline
 */
export function lineOf(text: string, suite: string, target: string): number {
  const name = isDrift(target) ? target.slice(0, -against("").length) : target;
  const lines = text.split("\n");
  const start = lines.indexOf(`    ${JSON.stringify(suite)}: {`);
  const end = lines.findIndex((line, i) => i > start && line.startsWith("    }"));
  const found = lines
    .slice(0, end)
    .findLastIndex((line) => line.trimStart().startsWith(`${JSON.stringify(name)}:`));
  return start >= 0 && found > start ? found + 1 : 1;
}

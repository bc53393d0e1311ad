/**
 * The committed baseline: the ratios and counters of an earlier run, so that small changes that add up
 * over weeks are found. Each value is one line of the file, which a failure can point to.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { Usage } from "../command/usage.ts";
import { exactTarget, verdictOf } from "../harness/targets.ts";
import type { Inferred, Report, SuiteResult, Target } from "../report/report.ts";

/** The baseline of this repository. */
export const COMMITTED: string = join(import.meta.dirname, "../../../../benchmarks/baseline.json");

const values = z.record(z.string(), z.number());

const schema = z.strictObject({
  /** Changes when older readers would misread the file. */
  schema: z.literal("idk-bench-baseline/2"),
  /** Ratios depend on the machine: on another one, only counters are compared. */
  machine: z.strictObject({ processor: z.string(), cores: z.number().int().positive() }),
  /** When and why the baseline was changed; the latest is the last. */
  updates: z.array(
    z.strictObject({
      date: z.iso.date(),
      revision: z.string().optional(),
      reason: z.string().min(1),
    }),
  ),
  /** By name, the unfavourable end of the interval of each ratio, and the counters. */
  suites: z.record(z.string(), z.strictObject({ ratios: values, counters: values })),
});

export type Baseline = Inferred<typeof schema>;

/** @throws Usage if the file cannot be read or is no baseline */
export async function readBaseline(file: string): Promise<Baseline> {
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new Usage(`cannot read the baseline ${file}: --update-baseline REASON writes one`, {
      cause,
    });
  });
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new Usage(`${file} is not a baseline: ${why.replaceAll("\n", "; ")}`, { cause });
  }
}

export async function writeBaseline(file: string, baseline: Baseline): Promise<void> {
  await writeFile(file, `${JSON.stringify(schema.parse(baseline), undefined, 2)}\n`);
}

/** The end of the name of a target that compares with the baseline. */
const AGAINST = ", against the baseline";

/** How much worse a ratio may get than the unfavourable end of its interval in the baseline. */
const DRIFT: Readonly<Record<Target["kind"], number>> = { cpu: 0.2, wall: 0.4, exact: 0.3 };

/** Adds a target to the result of a suite for each of its values that the baseline has. */
export function compareWithBaseline(
  result: SuiteResult,
  { suites, machine }: Baseline,
  host: Baseline["machine"],
): SuiteResult {
  const base = suites[result.suite];
  if (base === undefined || result.status !== "completed") return result;
  const added: Target[] = [];
  const same = host.processor === machine.processor && host.cores === machine.cores;
  for (const { name, value, unit, interval, kind, most } of same ? result.targets : []) {
    const before = base.ratios[name];
    if (before === undefined || unit !== "ratio") continue;
    const factor = 1 + DRIFT[kind];
    const bound = most === undefined ? { least: before / factor } : { most: before * factor };
    const drift = { name: name + AGAINST, value, unit, ...bound, interval, kind };
    added.push({ ...drift, verdict: verdictOf(drift) });
  }
  for (const { name, value, unit, tolerance = 0 } of result.counters) {
    const before = base.counters[name];
    if (before === undefined) continue;
    added.push(exactTarget(name + AGAINST, value, unit, { most: before * (1 + tolerance) }));
  }
  return { ...result, targets: [...result.targets, ...added] };
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
  { suites, machine: { processor, cores }, createdAt, revision }: Report,
  previous: Baseline | undefined,
  reason: string,
): Baseline {
  const bad = suites.filter(({ status }) => status !== "completed").map(({ suite }) => suite);
  if (bad.length > 0) {
    throw new Error(
      `the baseline was not updated, because of suites without results: ${bad.join(", ")}`,
    );
  }
  const own = suites.map(({ suite, targets, counters }) => {
    const ratios = targets
      .filter(({ unit, name }) => unit === "ratio" && !name.endsWith(AGAINST))
      .map(({ name, value, interval = { low: value, high: value }, most }) => {
        return [name, rounded(most === undefined ? interval.low : interval.high, 4)] as const;
      });
    const counts = counters.map(({ name, value }) => [name, rounded(value, 12)] as const);
    const found = { ratios: Object.fromEntries(ratios), counters: Object.fromEntries(counts) };
    return [suite, found] as const;
  });
  const update = { date: createdAt.slice(0, 10), ...(revision && { revision }), reason };
  return {
    schema: "idk-bench-baseline/2",
    machine: { processor, cores },
    updates: [...(previous?.updates ?? []), update],
    suites: { ...previous?.suites, ...Object.fromEntries(own) },
  };
}

function rounded(value: number, digits: number): number {
  return Number(value.toPrecision(digits));
}

/**
 * The line of the file with a value of a suite, counted from 1, or 1.
 *
 * @param target its name, with or without the words that mark a comparison with the baseline
 */
export function lineOf(text: string, suite: string, target: string): number {
  const name = target.endsWith(AGAINST) ? target.slice(0, -AGAINST.length) : target;
  const start = text.indexOf(`\n    ${JSON.stringify(suite)}: {`);
  const end = text.indexOf("\n    }", start);
  const found = text.lastIndexOf(`\n        ${JSON.stringify(name)}: `, end);
  return start >= 0 && found > start ? text.slice(0, found + 1).split("\n").length : 1;
}

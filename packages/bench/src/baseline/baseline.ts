/**
 * The committed baseline: the targets, ratios and counters of an earlier run, so that small changes that
 * add up over weeks are found, and targets that vanish. Each is one line of the file, which a failure can
 * point to.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { Usage } from "../command/usage.ts";
import { exactTarget, verdictOf } from "../harness/targets.ts";
import { AGAINST, describeProblem, problemsOf, subjectOf } from "../report/outcome.ts";
import type { Inferred, Report, SuiteResult, Target } from "../report/report.ts";
import { counted } from "../report/units.ts";

/** The baseline of this repository. */
export const COMMITTED: string = join(import.meta.dirname, "../../../../benchmarks/baseline.json");

const schema = z.strictObject({
  /** Changes when older readers would misread the file. */
  schema: z.literal("idk-bench-baseline/3"),
  /** On another machine, ratios are not compared, nor are counters that depend on it. */
  machine: z.strictObject({ processor: z.string(), cores: z.number().int().positive() }),
  /** When and why the baseline was changed; the latest is the last. */
  updates: z.array(
    z.strictObject({
      date: z.iso.date(),
      revision: z.string().optional(),
      reason: z.string().min(1),
    }),
  ),
  suites: z.record(
    z.string(),
    z.strictObject({
      /** By name: the unfavourable end of the interval of a ratio, or null if only its presence counts. */
      targets: z.record(z.string(), z.number().nullable()),
      counters: z.record(z.string(), z.number()),
    }),
  ),
});

const anyVersion = z.object({ updates: z.array(z.object({ reason: z.string() })) });

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

/** The reasons in a baseline of any version; none if it cannot be read. */
export async function reasonsIn(file: string): Promise<string[]> {
  const json: unknown = await Bun.file(file)
    .json()
    .catch(() => undefined);
  return anyVersion.safeParse(json).data?.updates.map(({ reason }) => reason) ?? [];
}

export async function writeBaseline(file: string, baseline: Baseline): Promise<void> {
  await writeFile(file, `${JSON.stringify(schema.parse(baseline), undefined, 2)}\n`);
}

function isCompared({ unit, ownBoundOnly }: Target): boolean {
  return unit === "ratio" && ownBoundOnly === undefined;
}

/** How much worse a ratio may get than the unfavourable end of its interval in the baseline. */
const DRIFT: Readonly<Record<Target["kind"], number>> = { cpu: 0.2, wall: 0.4, exact: 0.3 };

/** Why ratios are not compared on a machine, one sentence; undefined if they are. */
export function notCompared(
  { machine: { processor, cores } }: Baseline,
  host: Baseline["machine"],
): string | undefined {
  if (host.processor === processor && host.cores === cores) return undefined;
  return `ratios and peak memory were not compared with the baseline, which is of another machine (${processor}, ${counted(cores, "core")})`;
}

/**
 * Adds a target to the result of a suite for each of its values that the baseline has. Counters must not
 * fall either: one that counts nothing any more would pass.
 */
export function compareWithBaseline(
  result: SuiteResult,
  baseline: Baseline,
  host: Baseline["machine"],
): SuiteResult {
  const base = baseline.suites[result.suite];
  if (base === undefined || result.status !== "completed") return result;
  const added: Target[] = [];
  const same = notCompared(baseline, host) === undefined;
  for (const target of same ? result.targets : []) {
    const { name, value, unit, interval, kind, least, most } = target;
    const before = base.targets[name] ?? undefined;
    if (before === undefined || !isCompared(target)) continue;
    const factor = 1 + DRIFT[kind];
    const bound = most === undefined ? { least: before / factor } : { most: before * factor };
    // Looser than its own bound, it would find nothing more.
    if (most === undefined ? bound.least! <= least! : bound.most! >= most) continue;
    const drift = { name: name + AGAINST, value, unit, ...bound, interval, kind };
    added.push({ ...drift, verdict: verdictOf(drift) });
  }
  for (const { name, value, unit, tolerance = 0, peak } of result.counters) {
    const before = base.counters[name];
    if (before === undefined || (peak && !same)) continue;
    const bound = {
      most: before * (1 + tolerance),
      ...(!peak && { least: before * (1 - tolerance) }),
    };
    added.push(exactTarget(name + AGAINST, value, unit, bound));
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
    return Object.keys({ ...base.targets, ...base.counters })
      .filter((name) => !measured.has(name))
      .map((name) => `${suite}: "${name}" is in the baseline and was not measured`);
  });
}

/**
 * Replaces the suites of the report in the baseline and keeps the others. A ratio whose target is
 * inconclusive keeps its previous value, because that of a noisy machine would loosen the baseline.
 *
 * @throws Error if a suite did not complete, a target is missed, an inconclusive ratio has no previous
 *   value, or suites would be kept that were measured on another machine
 */
export function updatedBaseline(
  report: Report,
  previous: Baseline | undefined,
  reason: string,
): Baseline {
  const { machine, createdAt, revision } = report;
  const { processor, cores } = machine;
  const isElsewhere = previous !== undefined && notCompared(previous, machine) !== undefined;
  const known = previous === undefined || isElsewhere ? {} : previous.suites;
  const why = problemsOf(report, { strict: false, ci: true })
    .filter(({ level }) => level === "failure")
    .map((problem) => `${subjectOf(problem)} ${describeProblem(problem)}`.trim());
  const measured = new Set(report.suites.map(({ suite }) => suite));
  const kept = Object.keys(previous?.suites ?? {}).filter((suite) => !measured.has(suite));
  if (isElsewhere && kept.length > 0) {
    const of = `${previous.machine.processor}, ${counted(previous.machine.cores, "core")}`;
    why.push(`it is of another machine (${of}), so update all suites: name none`);
  }
  const own = report.suites.map(({ suite, targets, counters }) => {
    const values = targets
      .filter(({ name }) => !name.endsWith(AGAINST))
      .map((target): [string, number | null] => {
        const { name, verdict, value, interval = { low: value, high: value }, most } = target;
        if (!isCompared(target)) return [name, null];
        const end = rounded(most === undefined ? interval.low : interval.high, 4);
        const ratio = verdict === "inconclusive" ? known[suite]?.targets[name] : end;
        if (ratio === undefined) {
          why.push(`${suite}: ${name} is inconclusive: run it again on a quiet machine`);
        }
        return [name, ratio ?? null];
      });
    const counts = counters.map(({ name, value }) => [name, rounded(value, 12)] as const);
    const found = { targets: Object.fromEntries(values), counters: Object.fromEntries(counts) };
    return [suite, found] as const;
  });
  if (why.length > 0) throw new Error(`the baseline was not updated: ${why.join("; ")}`);
  const update = { date: createdAt.slice(0, 10), ...(revision && { revision }), reason };
  return {
    schema: "idk-bench-baseline/3",
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

/** What recording may cost: the bounds, and goals beside those that are not reached. */
import type { Lookup } from "../../harness/results.ts";
import { type Bound, ratioTarget, sampledTarget } from "../../harness/targets.ts";
import type { Target } from "../../report/report.ts";
import type { Mode } from "./server.ts";

/** The modes in which each endpoint is measured, one of them without a recorder. */
export type Modes = Readonly<Record<string, readonly Mode[]>>;

/** Seconds of CPU time that a recorded simple GET may take. */
const SIMPLE: Bound = { most: 120e-6, goal: 20e-6 };
/** Of the recorder's own CPU time, with 20 rules to without. */
const RULES: Bound = { most: 1.6, goal: 1.1 };
/** Of the recorder's own CPU time for whole bodies, to the least work. */
const BODIES: Bound = { most: 2.5, goal: 1.3 };
/** Of the scan of a body for secrets, which is in the least work, to `JSON.parse` of the same bytes. */
const SCANNING: Bound = { most: 3 };
/** Median latency, to that without a recorder; and that without a recorder once more. */
const LATENCY: Bound = { most: 1.5, goal: 1.05 };
const LATENCY_SIMPLE: Bound = { most: 1.5, goal: 1.03 };
const CONTROL: Bound = { most: 1.05 };
/** Seconds beyond the control. */
const TAIL_MORE: Bound = { most: 5e-3 };

/** The measurement of the least work for a whole body. */
export const LEAST = "1 MB: scan + JSON + secretbox + SHA-256";
/** Of the scan in it, and of what the runtime takes to parse the same bytes. */
export const SCAN = "1 MB: scan";
export const PARSE = "1 MB: JSON.parse";
export const TAIL = "99.9th percentile";

export function nameOf(endpoint: string, mode: Mode, of?: typeof TAIL): string {
  return `${endpoint}, ${mode}${of === undefined ? "" : `: ${of}`}`;
}

export function cpuTargets(modes: Modes, of: Lookup): Target[] {
  const cpu = (name: string): readonly number[] => of(name).cpuSamples ?? [];
  /** CPU time of the recorder alone, in each round. */
  const own = (endpoint: string, mode: Mode): number[] => {
    const bare = cpu(nameOf(endpoint, "disabled"));
    return cpu(nameOf(endpoint, mode)).map((seconds, i) => seconds - bare[i]!);
  };
  const ratio = (name: string, above: number[], below: readonly number[], bound: Bound): Target => {
    const ratios = above.map((seconds, i) => seconds / below[i]!);
    return sampledTarget(name, ratios, bound, { unit: "ratio", kind: "cpu" });
  };
  const targetOf = (endpoint: string, mode: Mode): Target[] => {
    const mine = own(endpoint, mode);
    if (endpoint === "simple" && mode !== "disabled" && mode !== "control") {
      const name = `${subject(endpoint, mode)}: CPU of the recorder for each request`;
      return [sampledTarget(name, mine, SIMPLE, { unit: "seconds", kind: "cpu" })];
    }
    if (mode === "rules") {
      const name = `${endpoint}: CPU of the recorder with 20 rules, to without`;
      return [ratio(name, mine, own(endpoint, "active"), RULES)];
    }
    if (mode === "whole") {
      const name = `${endpoint}: CPU of the recorder for whole bodies, to the least work`;
      return [ratio(name, mine, cpu(LEAST), BODIES)];
    }
    return [];
  };
  const targets = eachOf(modes, targetOf);
  if (!Object.values(modes).some((own) => own.includes("whole"))) return targets;
  const name = "1 MB: CPU of the scan for secrets, to JSON.parse";
  return [...targets, ratio(name, [...cpu(SCAN)], cpu(PARSE), SCANNING)];
}

export function latencyTargets(modes: Modes, of: Lookup): Target[] {
  return eachOf(modes, (endpoint, mode) => {
    if (mode !== "control" && mode !== "active" && mode !== "store") return [];
    const what = mode === "control" ? "not recorded once more" : "recorded";
    const median = ratioTarget(
      `${subject(endpoint, mode)}: median latency, ${what} to not recorded`,
      { of: of(nameOf(endpoint, mode)), to: of(nameOf(endpoint, "disabled")) },
      mode === "control" ? CONTROL : endpoint === "simple" ? LATENCY_SIMPLE : LATENCY,
    );
    if (mode === "control") return [median];
    const { samples: control } = of(nameOf(endpoint, "control", TAIL));
    const { samples: tail } = of(nameOf(endpoint, mode, TAIL));
    const more = tail.map((seconds, i) => seconds - control[i]!);
    const name = `${subject(endpoint, mode)}: ${TAIL} of latency beyond the control`;
    const how = { unit: "seconds", kind: "wall" } as const;
    return [median, sampledTarget(name, more, TAIL_MORE, how)];
  });
}

function subject(endpoint: string, mode: Mode): string {
  return mode === "store" ? `${endpoint}, to a store` : endpoint;
}

function eachOf(modes: Modes, targetsOf: (endpoint: string, mode: Mode) => Target[]): Target[] {
  return Object.entries(modes).flatMap(([endpoint, own]) =>
    own.flatMap((mode) => targetsOf(endpoint, mode)),
  );
}

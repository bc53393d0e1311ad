import { benchCommand } from "../../src/command/bench-command.ts";
import type { BenchContext } from "../../src/command/context.ts";
import type { Target } from "../../src/report/report.ts";
import type { Suite, SuiteContext } from "../../src/suite.ts";
import { HEAD, measurement, target } from "../report/fixtures.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A suite with one measurement, counter and target, which records the contexts it ran with. */
export function fakeSuite(
  name: string,
  {
    value = 1,
    counter = 7,
    targets = [target("put by bound", value, 1.1)],
    ...more
  }: Partial<Suite> & {
    /** The value of its target, a ratio of at most 1.1. */
    readonly value?: number;
    readonly counter?: number;
    readonly targets?: readonly Target[];
  } = {},
): Suite & { readonly contexts: SuiteContext[] } {
  const contexts: SuiteContext[] = [];
  return {
    name,
    title: `What ${name} takes`,
    contexts,
    async run(context) {
      contexts.push(context);
      context.log("half of it");
      return {
        measurements: [measurement("put", 0.001, { bytesPerOperation: 1e6 })],
        counters: [{ name: "PUT requests", value: counter, unit: "count" }],
        targets,
      };
    },
    ...more,
  };
}

/** Runs a command line with the given suites and without this process's environment. */
export async function bench(
  args: readonly string[],
  context: Partial<Omit<BenchContext, "stdout" | "stderr">> & { readonly isTTY?: boolean } = {},
): Promise<Ran> {
  let [stdout, stderr] = ["", ""];
  const { isTTY = false, ...rest } = context;
  const code = await benchCommand(args, {
    suites: [fakeSuite("one"), fakeSuite("two")],
    env: {},
    signal: new AbortController().signal,
    describeRun: async (quick) => ({ ...HEAD, quick }),
    ...rest,
    stdout: {
      isTTY,
      print: async (text) => {
        stdout += text;
      },
    },
    stderr: {
      isTTY,
      write: (text) => {
        stderr += text;
      },
    },
  });
  return { code, stdout, stderr };
}

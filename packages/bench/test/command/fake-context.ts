import { benchCommand } from "../../src/command/bench-command.ts";
import type { BenchContext } from "../../src/command/context.ts";
import type { Suite, SuiteContext } from "../../src/suite.ts";
import { HEAD, measurement, result, target } from "../report/fixtures.ts";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A suite that takes `seconds` for a megabyte, by its own word, and tells what it was run with. */
export function fakeSuite(
  name: string,
  {
    seconds = 0.001,
    requests = 1,
    value = 1,
    ...more
  }: Partial<Suite> & {
    readonly seconds?: number;
    readonly requests?: number;
    /** Of its target, which is at most 1.1. */
    readonly value?: number;
  } = {},
): Suite & { readonly contexts: SuiteContext[] } {
  const contexts: SuiteContext[] = [];
  return {
    name,
    title: `What ${name} takes`,
    needsObjectStore: false,
    contexts,
    async run(context) {
      contexts.push(context);
      context.log("half of it");
      return result(name, {
        measurements: [measurement("put", seconds, { bytesPerOperation: 1e6, requests })],
        targets: [target("put by bound", value, 1.1)],
      });
    },
    ...more,
  };
}

/** Runs a command line over suites, with nothing of this process's own environment. */
export async function bench(
  args: readonly string[],
  context: Partial<Omit<BenchContext, "stdout" | "stderr">> & { readonly isTTY?: boolean } = {},
): Promise<Ran> {
  let [stdout, stderr] = ["", ""];
  const { isTTY = false, ...rest } = context;
  const write = (text: string): void => {
    stdout += text;
  };
  const code = await benchCommand(args, {
    suites: [fakeSuite("one"), fakeSuite("two")],
    env: {},
    signal: new AbortController().signal,
    describeRun: async (quick) => ({ ...HEAD, quick }),
    calibrate: async () => HEAD.calibration,
    ...rest,
    stdout: { isTTY, write, print: async (text) => write(text) },
    stderr: {
      isTTY,
      write: (text) => {
        stderr += text;
      },
    },
  });
  return { code, stdout, stderr };
}

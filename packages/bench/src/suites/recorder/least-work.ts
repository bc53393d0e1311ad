/** What recording a whole body takes at least, and the scan in that, in a process of its own. */
import { randomBytes } from "node:crypto";
// No entry point exports the scanner by itself: it is the measure here, and nothing else needs it.
import { redactJson } from "../../../../recorder/src/redact/json/redact-json.ts";
import { checkOptions } from "../../../../recorder/src/redact/rules/check.ts";
import { compileRules } from "../../../../recorder/src/redact/rules/rule-set.ts";
import { boundsFor } from "../../harness/bounds.ts";
import { measurePeak } from "../../harness/memory.ts";
import { answerJob } from "../../harness/processes.ts";
import type { Sample } from "../../harness/results.ts";
import { LARGE } from "./endpoints.ts";

/**
 * Scans a large body for secrets, writes it as JSON, seals that and hashes it. Then scans it alone, and has
 * the runtime parse it: the scan is the recorder's own code, so it has a bound of its own.
 *
 * @param count how often each is done before it is measured, and while it is
 */
async function leastWork({ count }: { readonly count: number }): Promise<Sample[]> {
  const bytes = Buffer.from(LARGE);
  const { defaults, hashKey } = checkOptions({ hashKey: randomBytes(32), maxDecodedBytes: 0 });
  const rules = compileRules([], defaults, hashKey);
  const scan = (): Uint8Array => {
    const scanning = redactJson(bytes, false, rules);
    let step = scanning.next();
    while (step.done !== true) step = scanning.next();
    if (typeof step.value === "string") throw new Error(`the scan of a body is ${step.value}`);
    return step.value;
  };
  const line = (): Buffer => Buffer.from(JSON.stringify({ text: Buffer.from(scan()).toString() }));
  const { seal, hash } = await boundsFor(line().length);
  const all = (): void => {
    line();
    seal();
    hash();
  };
  const samples: Sample[] = [];
  for (const work of [all, scan, () => JSON.parse(bytes.toString()) as unknown]) {
    const repeat = async (): Promise<void> => {
      for (let i = 0; i < count; i++) work();
    };
    await repeat();
    const { cpuSeconds, peakRss, seconds } = await measurePeak(repeat);
    samples.push({ seconds: seconds / count, cpuSeconds: cpuSeconds / count, peakRss });
  }
  return samples;
}

await answerJob(leastWork);

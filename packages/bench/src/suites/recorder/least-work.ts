/** What recording a whole body takes at least, in a process of its own. */
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
 * Scans a large body for secrets, writes it as JSON, seals that and hashes it.
 *
 * @param count how often it is done before it is measured, and while it is
 */
async function leastWork({ count }: { readonly count: number }): Promise<Sample> {
  const bytes = Buffer.from(LARGE);
  const { defaults, hashKey } = checkOptions({ hashKey: randomBytes(32), maxDecodedBytes: 0 });
  const rules = compileRules([], defaults, hashKey);
  const line = (): Buffer => {
    const scan = redactJson(bytes, false, rules);
    let step = scan.next();
    while (step.done !== true) step = scan.next();
    if (typeof step.value === "string") throw new Error(`the scan of a body is ${step.value}`);
    return Buffer.from(JSON.stringify({ text: Buffer.from(step.value).toString() }));
  };
  const { seal, hash } = await boundsFor(line().length);
  const work = async (): Promise<void> => {
    for (let i = 0; i < count; i++) {
      line();
      seal();
      hash();
    }
  };
  await work();
  const { cpuSeconds, peakRss, seconds } = await measurePeak(work);
  return { seconds: seconds / count, cpuSeconds: cpuSeconds / count, peakRss };
}

await answerJob(leastWork);

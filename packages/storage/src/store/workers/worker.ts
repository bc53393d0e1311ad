/** What runs in each thread of the pool. */
import {
  type OpenJob,
  type OpenOutcome,
  type SealJob,
  type SealOutcome,
  runOpen,
  runSeal,
} from "./jobs.ts";
import { type NaClChoice, loadNaCl } from "../../crypto/nacl.ts";
import { move, transferableSymbol, valueSymbol } from "piscina";

/** Loads what a thread needs, before there is anything to do. */
export async function warmUp(nacl: NaClChoice): Promise<void> {
  await loadNaCl(nacl);
}

export async function seal(job: SealJob): Promise<SealOutcome> {
  return returned(await runSeal(job));
}

export async function open(job: OpenJob): Promise<OpenOutcome> {
  return returned(await runOpen(job));
}

/** Tells the pool which memory of the outcome to hand over rather than copy. */
function returned<Outcome extends { readonly buffer: Uint8Array<ArrayBuffer> }>(
  outcome: Outcome,
): Outcome {
  return move({
    get [transferableSymbol]() {
      return outcome.buffer.buffer;
    },
    get [valueSymbol]() {
      return outcome;
    },
  }) as unknown as Outcome;
}

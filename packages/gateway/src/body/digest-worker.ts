/** What runs in each thread that computes digests. */
import { type Digester, createDigester } from "./digester.ts";
import { move, transferableSymbol, valueSymbol } from "piscina";
import type { DigestName } from "./algorithms.ts";

/** A step of the digests of one body. The steps of a body are run one after the other. */
export type DigestStep =
  | { readonly type: "begin"; readonly id: number; readonly names: readonly DigestName[] }
  | {
      readonly type: "update";
      readonly id: number;
      /** Is given away, and comes back. */
      readonly buffer: Uint8Array<ArrayBuffer>;
      readonly length: number;
    }
  | { readonly type: "digest"; readonly id: number }
  | { readonly type: "abandon"; readonly id: number };

const digesters = new Map<number, Digester>();

/** Loads what a thread needs before its first job. */
export function warmUp(): void {}

/** @returns the buffer of an update, or the digests */
export async function runDigestStep(step: DigestStep): Promise<unknown> {
  if (step.type === "update") {
    await digesterOf(step.id).update(step.buffer.subarray(0, step.length));
    return transferred(step.buffer);
  }
  if (step.type === "begin") {
    digesters.set(step.id, createDigester(step.names));
    return undefined;
  }
  const digester = step.type === "digest" ? digesterOf(step.id) : undefined;
  digesters.delete(step.id);
  return digester?.digest();
}

/** The pool replaces a thread that died, and with it the digests were lost. */
function digesterOf(id: number): Digester {
  const digester = digesters.get(id);
  if (digester === undefined) throw new Error("the digests of this body were lost");
  return digester;
}

/** Marks a buffer for the pool to transfer rather than copy. */
function transferred(buffer: Uint8Array<ArrayBuffer>): unknown {
  return move({
    get [transferableSymbol]() {
      return buffer.buffer;
    },
    get [valueSymbol]() {
      return buffer;
    },
  });
}

import { throwIfAborted } from "../../abort.ts";
import { type Child, fetchChild, wrongLength } from "../walk.ts";
import type { ReadyWorkers } from "./pool.ts";
import { StorageError } from "../../errors.ts";
import type { StoreContext } from "../context.ts";
import { untilIntact } from "../fetch.ts";

/**
 * Fetches a leaf here, and has it verified and opened by a worker; otherwise as `fetchChild`.
 *
 * @param buffer is given away: the result has another one over the same memory
 */
export async function fetchLeaf(
  context: StoreContext,
  workers: ReadyWorkers,
  leaf: Child,
  length: number,
  buffer: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
  into: Uint8Array<ArrayBuffer> | undefined,
): Promise<{ plaintext: Uint8Array<ArrayBuffer>; buffer: Uint8Array<ArrayBuffer> }> {
  const { backend } = context;
  const { address, contentKey } = leaf.reference;
  // A key of its own: with a view, all the references around it would go to the thread as well.
  const reference = { address, contentKey: new Uint8Array(contentKey) };
  let current = buffer;
  const attempt = async () => {
    const stored = await backend.get(address, current, { signal });
    const outcome = await workers.open({ buffer: current, length: stored, reference });
    current = outcome.buffer;
    return outcome.plaintext;
  };
  let opened: Awaited<ReturnType<typeof attempt>> & {};
  try {
    opened = await untilIntact(backend, address, attempt);
  } catch (error) {
    if (!(error instanceof StorageError && error.code === "limit")) throw error;
    // Longer than it can be: what is wrong with it is found out where there is more room.
    const plaintext = await fetchChild(context, leaf, length, current, signal, into);
    return { plaintext, buffer: current };
  }
  if ("code" in opened) throw new StorageError(opened.code, opened.message);
  if (opened.length !== length) throw wrongLength("leaf", address);
  const inBuffer = current.subarray(opened.start, opened.start + opened.length);
  if (into === undefined) return { plaintext: inBuffer, buffer: current };
  // Whoever reads has given up: the memory is the caller's again.
  throwIfAborted(signal);
  into.set(inBuffer);
  return { plaintext: into, buffer: current };
}

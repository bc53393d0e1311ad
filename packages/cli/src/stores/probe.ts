import { type Backend, createStore, generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { codeOf, Failure } from "../errors/failures.ts";

/** What idk needs from a store, in the order of the tests. */
export const NEEDS = ["reachable", "credentials", "write", "read", "list", "delete"] as const;
export type Need = (typeof NEEDS)[number];

export interface Trial {
  /** Undefined if it was not tested, because something before it failed. */
  readonly ok: boolean | undefined;
  readonly error?: unknown;
}

/** The results for a store. Undefined: could not be determined. */
export interface Findings {
  readonly needs: Readonly<Record<Need, Trial>>;
  readonly attestation: boolean | undefined;
  readonly conditionalPut: boolean | undefined;
  readonly versions: boolean | undefined;
  /** In the provider's words; empty if it reports none. */
  readonly encryption: string | undefined;
  /** The median duration of a HEAD request, in milliseconds. */
  readonly roundTripMs: number | undefined;
  /** The name of the test blob, if it could not be removed. */
  readonly left: string | undefined;
}

const ROUND_TRIPS = 5;

/** More than the length of the test blob. */
const PROBE_MAX = 64 * 1024;

/** The timeout for removing the test blob after an interruption, in milliseconds. */
const CLEANUP_MS = 5000;

const NOT_TRIED: Trial = { ok: undefined };

/** Writes one small blob, tests every operation on it, and removes it. */
export async function probe(backend: Backend, signal: AbortSignal): Promise<Findings> {
  const { name, bytes } = await makeProbe();
  const first = await attempt(() => backend.head(name, { signal }), signal);
  // A server that denies access has been reached.
  const reached = first.ok === true || codeOf(first.error) === "permission";
  if (!reached) return partialFindings({ reachable: first });

  try {
    const write = await attempt(() => backend.put(name, bytes, { signal, sha256: name }), signal);
    const read = await attempt(() => readBack(backend, name, bytes, signal), signal);
    const list = await attempt(() => listed(backend, name, write.ok === true, signal), signal);
    const capabilities = await attempt(async () => backend.capabilities?.({ signal }), signal);
    const info = await attempt(() => backend.head(name, { signal }), signal);
    const roundTripMs = info.ok ? await roundTrip(backend, name, signal) : undefined;
    const removed = await attempt(() => remove(backend, name, info.ok === true, signal), signal);
    const credentials = credentialsOf([write, first, read, list, removed]);
    if (credentials.ok === false) return partialFindings({ reachable: { ok: true }, credentials });
    const able = capabilities.ok ? capabilities.value : undefined;
    const unknown = capabilities.ok ? false : undefined;
    return {
      needs: {
        reachable: { ok: true },
        credentials,
        write,
        // Without a blob to read, only a denied read is conclusive.
        read: write.ok || codeOf(read.error) === "permission" ? read : NOT_TRIED,
        list,
        delete: removed,
      },
      attestation: able?.verifiesChecksums ?? unknown,
      conditionalPut: able?.conditionalPut ?? unknown,
      versions: able === undefined ? unknown : able.versions,
      encryption:
        (info.ok ? info.value?.encryption : undefined) ??
        able?.encryption ??
        (capabilities.ok ? "" : undefined),
      roundTripMs,
      left: write.ok && removed.ok !== true ? name : undefined,
    };
  } catch (error) {
    // Interrupted. Remove the blob even if the write was aborted, because the store may have it. Use
    // a short timeout instead of the retry budget, because the user is waiting.
    const cleanup = AbortSignal.timeout(CLEANUP_MS);
    await backend.delete(name, { signal: cleanup }).catch(() => undefined);
    throw error;
  }
}

/** The same without writing anything. */
export async function probeReading(backend: Backend, signal: AbortSignal): Promise<Findings> {
  const { name } = await makeProbe();
  const first = await attempt(() => backend.head(name, { signal }), signal);
  if (!first.ok && codeOf(first.error) !== "permission")
    return partialFindings({ reachable: first });
  const list = await attempt(() => firstListed(backend, signal), signal);
  const credentials = credentialsOf([first, list]);
  if (credentials.ok === false) return partialFindings({ reachable: { ok: true }, credentials });
  const roundTripMs = first.ok ? await roundTrip(backend, name, signal) : undefined;
  return { ...partialFindings({ reachable: { ok: true }, credentials, list }), roundTripMs };
}

async function firstListed(backend: Backend, signal: AbortSignal): Promise<void> {
  for await (const _ of backend.list("", { signal })) return;
}

/**
 * A valid root for a discarded key, so that `idk verify` accepts it if the credentials do not allow
 * removing it.
 */
async function makeProbe(): Promise<{ name: string; bytes: Uint8Array }> {
  const [backend, { recipient }] = [memory(), await generateIdentity()];
  const name = await createStore({ backend, recipients: [recipient] }).put("idk store check");
  const buffer = new Uint8Array(PROBE_MAX);
  return { name, bytes: buffer.subarray(0, await backend.get(name, buffer)) };
}

/** The findings if the tests end early. */
function partialFindings(tried: Partial<Findings["needs"]>): Findings {
  return {
    needs: {
      reachable: NOT_TRIED,
      credentials: NOT_TRIED,
      write: NOT_TRIED,
      read: NOT_TRIED,
      list: NOT_TRIED,
      delete: NOT_TRIED,
      ...tried,
    },
    attestation: undefined,
    conditionalPut: undefined,
    versions: undefined,
    encryption: undefined,
    roundTripMs: undefined,
    left: undefined,
  };
}

interface Attempt<T> extends Trial {
  readonly value?: T;
}

async function attempt<T>(action: () => Promise<T>, signal: AbortSignal): Promise<Attempt<T>> {
  try {
    return { ok: true, value: await action() };
  } catch (error) {
    if (signal.aborted || codeOf(error) === "unexpected") throw error;
    return { ok: false, error };
  }
}

/** If everything is denied, the credentials are wrong; if anything works, permissions are missing. */
function credentialsOf(trials: readonly Trial[]): Trial {
  if (trials.some(({ ok }) => ok)) return { ok: true };
  return trials.find(({ error }) => codeOf(error) === "permission") ?? NOT_TRIED;
}

async function readBack(
  backend: Backend,
  name: string,
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<void> {
  const buffer = new Uint8Array(PROBE_MAX);
  const length = await backend.get(name, buffer, { signal });
  if (Buffer.compare(buffer.subarray(0, length), bytes) !== 0) {
    throw new Failure("address", "the store returned other bytes than were written");
  }
}

async function listed(
  backend: Backend,
  name: string,
  expected: boolean,
  signal: AbortSignal,
): Promise<void> {
  for await (const found of backend.list(name, { signal })) if (found.name === name) return;
  if (expected)
    throw new Failure("unavailable", "the store did not list a blob that was just written");
}

async function remove(
  backend: Backend,
  name: string,
  canHead: boolean,
  signal: AbortSignal,
): Promise<void> {
  await backend.delete(name, { signal });
  if (canHead && (await backend.head(name, { signal })) !== undefined) {
    throw new Failure("unavailable", "the store still has a blob that was just removed");
  }
}

async function roundTrip(backend: Backend, name: string, signal: AbortSignal): Promise<number> {
  const times: number[] = [];
  for (let index = 0; index < ROUND_TRIPS; index++) {
    const start = performance.now();
    await backend.head(name, { signal });
    times.push(performance.now() - start);
  }
  return times.toSorted((a, b) => a - b)[ROUND_TRIPS >> 1]!;
}

import type { Backend, CallOptions, ListedBlob } from "./backend.ts";
import {
  type BackendCall,
  type Clock,
  patienceOf,
  persist,
  type RetryOptions,
  systemClock,
} from "./backoff.ts";

/**
 * A backend that makes calls again that failed with a transient error: with growing, random waits,
 * not earlier than the store asks for, and until a time is over. The signal of a call ends its
 * attempts and its waits. Whatever is no transient StorageError passes through at once.
 *
 * A listing is begun again where it fails before its first blob. Later it goes on behind the last
 * one, if the backend has `listAfter`, and each blob listed renews the time. Without `listAfter`
 * the error passes through: to tell what had been listed before would take a memory without bound.
 *
 * Around `withLimit`, not within it, so that a call that waits keeps nobody else waiting.
 *
 * @throws StorageError `usage` where an option is wrong
 */
export function withRetry(
  backend: Backend,
  options: RetryOptions = {},
  clock: Clock = systemClock,
): Backend {
  const patienceFor = patienceOf(options, clock);

  const again = <T>(
    call: BackendCall,
    attempt: () => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> => persist(patienceFor(call), attempt, signal);

  async function* list(
    prefix: string,
    after: string | undefined,
    given: CallOptions | undefined,
  ): AsyncGenerator<ListedBlob> {
    const patience = patienceFor("list");
    let last = after;
    let begun = false;
    for (;;) {
      try {
        for await (const blob of listFrom(backend, prefix, last, given)) {
          begun = true;
          yield blob;
          last = blob.name;
          // Only now: the time that the consumer took is none of the store's.
          patience.renew();
        }
        return;
      } catch (error) {
        if (begun && backend.listAfter === undefined) throw error;
        await patience.afterFailure(error, given?.signal);
      }
    }
  }

  return {
    description: backend.description,
    ...(backend.local && { local: true }),
    put: (name, bytes, given) => again("put", () => backend.put(name, bytes, given), given?.signal),
    get: (name, buffer, given) =>
      again("get", () => backend.get(name, buffer, given), given?.signal),
    ...(backend.getPrefix && {
      getPrefix: (name: string, buffer: Uint8Array, given?: CallOptions) =>
        again("get", async () => backend.getPrefix!(name, buffer, given), given?.signal),
    }),
    head: (name, given) => again("head", () => backend.head(name, given), given?.signal),
    delete: (name, given) => again("delete", () => backend.delete(name, given), given?.signal),
    list: (prefix, given) => list(prefix, undefined, given),
    ...(backend.listAfter && {
      listAfter: (prefix: string, after: string, given?: CallOptions) => list(prefix, after, given),
    }),
    ...(backend.capabilities && {
      capabilities: (given?: CallOptions) =>
        again("capabilities", async () => backend.capabilities!(given), given?.signal),
    }),
    ...(backend.clockAheadMs && { clockAheadMs: () => backend.clockAheadMs!() }),
    ...(backend.close && { close: () => backend.close!() }),
  };
}

function listFrom(
  backend: Backend,
  prefix: string,
  after: string | undefined,
  given: CallOptions | undefined,
): AsyncIterable<ListedBlob> {
  return after === undefined || backend.listAfter === undefined
    ? backend.list(prefix, given)
    : backend.listAfter(prefix, after, given);
}

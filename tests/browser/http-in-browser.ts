/*
 * Runs in a page and in a worker: stores and reads content over the `fetch` backend. http.test.ts
 * bundles and starts it.
 */
import { StorageError, createStore, generateIdentity } from "@idk/storage";
import { http, type HttpMethod } from "@idk/storage/http";

/** Where blobs go: below a URL, or where a service signs for each of them. */
export interface Place {
  readonly url?: string;
  /** Takes `{ name, method, size }` by POST, and returns `{ url, headers }`. */
  readonly signer?: string;
}

function backendAt({ url, signer }: Place) {
  if (url !== undefined) return http({ url, headers: { "x-token": "abc" } });
  return http({
    async sign(name: string, method: HttpMethod, { size, signal }) {
      const body = JSON.stringify({ name, method, size });
      const response = await fetch(signer!, { method: "POST", body, signal });
      if (!response.ok) throw new Error(`cannot sign: status ${response.status}`);
      return (await response.json()) as { url: string };
    },
  });
}

const digest = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  String(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));

/** Stores content of several chunks, and reads it back whole and in part. */
async function roundTrip(place: Place): Promise<Record<string, unknown>> {
  const identity = await generateIdentity();
  const backend = backendAt(place);
  const store = createStore({ backend, identities: [identity], recipients: [identity.recipient] });
  const content = Uint8Array.from({ length: 700_000 }, (_, i) => (7 * i + (i >> 8)) & 255);
  const address = await store.put(new Blob([content, content]), { chunkSize: 2 ** 18 });
  const whole = new Uint8Array(await (await store.get(address)).bytes());
  const range = { start: 690_000, end: 710_000 };
  const part = await (await store.get(address, { range })).bytes();
  const prefix = new Uint8Array(4);
  await backend.getRange!(address, 0, prefix);
  return {
    whole: (await digest(whole)) === (await digest(Uint8Array.from([...content, ...content]))),
    part: part.length === 20_000 && part[0] === content[690_000] && part[19_999] === content[9999],
    prefix: String.fromCharCode(...prefix.subarray(0, 3)),
    inWorker: typeof document === "undefined",
  };
}

/** How reading a blob fails. */
async function failure(
  place: Place,
): Promise<{ code: string; transient: boolean; message: string }> {
  const reading = backendAt(place).get("ab".repeat(32), new Uint8Array(100));
  const error: unknown = await reading.then(
    () => new Error("nothing failed"),
    (reason: unknown) => reason,
  );
  if (!(error instanceof StorageError)) throw error;
  return { code: error.code, transient: error.transient, message: error.message };
}

Object.assign(globalThis, { idk: { roundTrip, failure } });
if (typeof document === "undefined") {
  globalThis.addEventListener("message", ({ data }) => {
    void roundTrip(data as Place).then(
      (found) => globalThis.postMessage(found, {}),
      (error: unknown) => globalThis.postMessage(String(error), {}),
    );
  });
}

export type InBrowser = {
  readonly roundTrip: typeof roundTrip;
  readonly failure: typeof failure;
};

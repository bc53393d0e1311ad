import type {
  Backend,
  BlobInfo,
  CallOptions,
  Capabilities,
  ListedBlob,
} from "../../src/backend/backend.ts";
import { memory } from "../../src/backend/memory.ts";
import { wrapBackend } from "../../src/backend/wrap.ts";
import { throwIfAborted } from "../../src/abort.ts";
import { sha256 } from "../support.ts";

export const CAPABILITIES: Capabilities = {
  verifiesChecksums: true,
  conditionalPut: false,
  versions: false,
  encryption: "AES256",
};

/** A backend that verifies and returns checksums and lists in order, as object stores do. */
export function attesting(inner: Backend = memory()): Backend {
  const infos = new Map<string, BlobInfo>();
  const wrapped = wrapBackend(inner, {
    put: (put) => async (name, bytes, options) => {
      const info = { size: bytes.length, sha256: sha256(bytes), encryption: "AES256" };
      await put(name, bytes, options);
      infos.set(name, info);
    },
    head: (head) => async (name, options) => {
      const info = await head(name, options);
      return info && { ...info, ...infos.get(name) };
    },
  });
  return {
    ...wrapped,
    local: false,
    list: (prefix, options) => inOrder(inner, prefix, "", options),
    listAfter: (prefix, after, options) => inOrder(inner, prefix, after, options),
    capabilities: async () => CAPABILITIES,
  };
}

async function* inOrder(
  inner: Backend,
  prefix: string,
  after: string,
  options: CallOptions | undefined,
): AsyncGenerator<ListedBlob> {
  const all = await Array.fromAsync(inner.list(prefix, options));
  for (const blob of all.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    throwIfAborted(options?.signal);
    if (blob.name > after) yield blob;
  }
}

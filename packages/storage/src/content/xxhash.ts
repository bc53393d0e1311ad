import xxhash, { type XXHashAPI } from "xxhash-wasm";
import { StorageError } from "../errors.ts";

let loaded: Promise<XXHashAPI> | undefined;

/**
 * The checksum of LZ4 frames, xxHash32: one WebAssembly module, made when it is first needed. Its
 * memory grows to what it is given at once and never shrinks, so give it portions.
 *
 * @throws StorageError `encoding`
 */
export async function loadXxhash(): Promise<XXHashAPI> {
  loaded ??= xxhash();
  try {
    return await loaded;
  } catch (cause) {
    loaded = undefined;
    throw new StorageError("encoding", "the checksums of LZ4 content need WebAssembly", { cause });
  }
}

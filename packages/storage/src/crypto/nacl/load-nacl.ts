import { StorageError, usage } from "../../errors.ts";
import { portableNaCl } from "./nacl-portable.ts";
import type { NaCl } from "./nacl.ts";

/** `auto` uses the native library if it loads, otherwise the portable one. */
export type NaClChoice = "auto" | "native" | "portable";

let native: Promise<NaCl | Error> | undefined;
let loadedNative: NaCl | undefined;

/**
 * Loads the implementation, once per process.
 *
 * @throws StorageError `usage` if `native` is requested and cannot be loaded
 */
export async function loadNaCl(choice: NaClChoice | NaCl = "auto"): Promise<NaCl> {
  if (typeof choice === "object") return choice;
  if (choice === "portable") return portableNaCl;
  if (choice !== "auto" && choice !== "native") {
    throw usage('nacl must be "auto", "native" or "portable"');
  }
  // Imported here because loading it takes longer than reading a small blob, and it is optional.
  native ??= import("#nacl-native").then(
    (module) => module.nativeNaCl,
    (error: unknown) => new Error("sodium-native did not load", { cause: error }),
  );
  const loaded = await native;
  if (!(loaded instanceof Error)) return (loadedNative = loaded);
  if (choice === "auto") return portableNaCl;
  throw new StorageError(
    "usage",
    'cannot load the native NaCl library: install sodium-native, or choose "auto" or "portable"',
    { cause: loaded },
  );
}

/**
 * The native implementation if it was loaded before, otherwise the portable one, for callers that cannot
 * wait. Both give the same bytes; of their signatures, see `Ed25519.verify`.
 */
export function loadedNaCl(): NaCl {
  return loadedNative ?? portableNaCl;
}

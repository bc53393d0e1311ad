import type { NaCl } from "@idk/storage";

/**
 * Key agreements, each computed once: processes open the same records again and again, which took an
 * eighth of the CPU time.
 */
export function rememberAgreements(naCl: NaCl): NaCl {
  const known = new Map<string, Uint8Array>();
  return {
    ...naCl,
    x25519(secretKey, publicKey) {
      const key = Buffer.concat([secretKey, publicKey]).toString("latin1");
      const shared = known.get(key) ?? naCl.x25519(secretKey, publicKey);
      known.set(key, shared);
      // The caller may erase it.
      return shared.slice();
    },
  };
}

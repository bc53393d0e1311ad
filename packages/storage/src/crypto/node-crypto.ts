type NodeCrypto = typeof import("node:crypto");

/**
 * `node:crypto` where the runtime has it (Node, Bun), undefined elsewhere (browsers). Asked for at
 * run time, so that a bundle for the browser never names it, and when it is needed: with the
 * streams it brings along it takes as long to load as all of the library.
 */
export function nodeCrypto(): NodeCrypto | undefined {
  return typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:crypto");
}

type NodeCrypto = typeof import("node:crypto");

/**
 * `node:crypto` if the runtime has it (Node, Bun), undefined in browsers. Looked up at run time, so
 * that a bundle for the browser does not import it, and only when needed, because loading it with
 * its streams takes as long as loading the rest of the library.
 */
export function nodeCrypto(): NodeCrypto | undefined {
  return typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:crypto");
}

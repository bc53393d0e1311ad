/**
 * `node:crypto` where the runtime has it (Node, Bun), undefined elsewhere (browsers). Asked for at
 * run time, so that a bundle for the browser never names it.
 */
export const nodeCrypto: typeof import("node:crypto") | undefined =
  typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:crypto");

import type { Backend } from "./backend.ts";

/** The members of the contract that are methods, required and optional ones. */
type Method = {
  [Key in keyof Backend]-?: NonNullable<Backend[Key]> extends (...given: never[]) => unknown
    ? Key
    : never;
}[keyof Backend];

/** For each method to replace, a function that takes the inner method and returns the new one. */
export type BackendWrappers = {
  readonly [Key in Method]?: (inner: NonNullable<Backend[Key]>) => NonNullable<Backend[Key]>;
};

/** Every member of the contract: a new one that is missing here does not compile. */
const MEMBERS: Readonly<Record<keyof Backend, true>> = {
  description: true,
  local: true,
  put: true,
  get: true,
  getRange: true,
  head: true,
  delete: true,
  list: true,
  listAfter: true,
  capabilities: true,
  clockAheadMs: true,
  putMarker: true,
  listMarkers: true,
  deleteMarker: true,
  currentTime: true,
  presign: true,
  close: true,
};

/**
 * A backend with some methods replaced and all other members passed through. An optional method
 * exists if and only if the inner backend has it; its wrapper is ignored otherwise. Inner methods
 * are bound, so the inner backend may be a class instance.
 *
 * The result is a plain object; spread it to add a member that the inner backend lacks.
 *
 * @example
 *     wrapBackend(backend, {
 *       put: (put) => async (name, ...rest) => {
 *         console.log(`put ${name}`);
 *         await put(name, ...rest);
 *       },
 *     });
 */
export function wrapBackend(inner: Backend, wrappers: BackendWrappers = {}): Backend {
  const wrapped: Record<string, unknown> = {};
  for (const key of Object.keys(MEMBERS) as (keyof Backend)[]) {
    const member = inner[key];
    if (typeof member === "function") {
      const wrap = wrappers[key as Method] as ((method: unknown) => unknown) | undefined;
      const method: unknown = member.bind(inner);
      wrapped[key] = wrap ? wrap(method) : method;
    } else if (member !== undefined) {
      wrapped[key] = member;
    }
  }
  return wrapped as unknown as Backend;
}

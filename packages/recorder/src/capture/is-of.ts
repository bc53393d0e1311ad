/**
 * Whether a value is of a global class, or of one that it inherits from: `@hono/node-server` replaces
 * `Request` and `Response` by classes that inherit from those of the runtime, of which `fetch` and
 * modules that were loaded before still make theirs.
 */
export function isOf<T extends object>(
  value: unknown,
  Class: { readonly prototype: T },
): value is T {
  if (typeof value !== "object" || value === null) return false;
  let prototype = prototypeOf(value);
  while (prototype !== null && prototype !== Object.prototype) {
    if (isPrototypeIn(prototype, Class)) return true;
    prototype = prototypeOf(prototype);
  }
  return false;
}

/** Whether its class is a global one, or one that this inherits from, and no subclass. */
export function isPlain(value: object, Class: { readonly prototype: object }): boolean {
  const prototype = prototypeOf(value);
  return prototype !== null && prototype !== Object.prototype && isPrototypeIn(prototype, Class);
}

/** Whether a prototype is that of a class, or of one that it inherits from. */
function isPrototypeIn(prototype: object, Class: { readonly prototype: object }): boolean {
  return (
    prototype === Class.prototype || Object.prototype.isPrototypeOf.call(prototype, Class.prototype)
  );
}

function prototypeOf(value: object): object | null {
  return Object.getPrototypeOf(value) as object | null;
}

/** Defines a method on an object, in place of its prototype's, as if it were inherited. */
export function shadow(object: object, name: string, method: (...given: never[]) => unknown): void {
  Object.defineProperty(object, name, {
    value: method,
    configurable: true,
    enumerable: false,
    writable: true,
  });
}

/** Defines a getter on an object, in place of its prototype's. */
export function shadowGetter(object: object, name: string, get: () => unknown): void {
  Object.defineProperty(object, name, { get, configurable: true, enumerable: false });
}

/** A property of an object as its prototypes have it. */
export function inherited(object: object, name: string): unknown {
  return Reflect.get(Object.getPrototypeOf(object) as object, name, object);
}

/** What the revision under measurement lacks: no failure, but no measurement either. */
export class Missing extends Error {}

/**
 * Imports an entry point of the revision in whose worktree this lies. At run time, so that what it
 * lacks can be named; a static import would end in an error of the runtime's.
 */
export async function entryPoint<Module extends object>(
  specifier: string,
  names: readonly (keyof Module & string)[],
): Promise<Module> {
  const module = await import(specifier).catch((error: unknown) => {
    if (isUnresolved(error, specifier)) throw new Missing(`the entry point ${specifier}`);
    throw error;
  });
  for (const name of names) {
    if (typeof module[name] !== "function") throw new Missing(`${name} in ${specifier}`);
  }
  return module as Module;
}

/** @throws Missing where an object of the library's has no such methods */
export function requireMethods<T extends object>(
  name: string,
  object: T,
  methods: readonly (keyof T & string)[],
): void {
  for (const method of methods) {
    if (typeof object[method] !== "function") throw new Missing(`${name}.${method}`);
  }
}

/**
 * Whether it is the entry point itself that is not there, rather than something that it imports. By
 * what Bun says besides the message, which names now the entry point and now the package.
 */
function isUnresolved(error: unknown, specifier: string): boolean {
  return (Object(error) as { specifier?: unknown }).specifier === specifier;
}

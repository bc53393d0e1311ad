/** The measured revision lacks an export or method: neither a failure nor a measurement. */
export class Missing extends Error {}

/**
 * Imports an entry point of the revision in whose worktree this file is. The import is dynamic so that a
 * missing name can be reported; a static import would fail with an error of the runtime.
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

/** @throws Missing if an object of the library lacks one of the methods */
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
 * Whether the entry point itself is missing, and not something that it imports. Uses the `specifier`
 * property of Bun's error, because the message names either the entry point or the package.
 */
function isUnresolved(error: unknown, specifier: string): boolean {
  return (Object(error) as { specifier?: unknown }).specifier === specifier;
}

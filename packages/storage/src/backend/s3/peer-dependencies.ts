import { StorageError } from "../../errors.ts";

/**
 * Handles a failed import of an optional peer dependency; only object stores need those. Used as
 * `import(…).catch(…)`, which bundlers recognize: they accept that the package is missing.
 *
 * @param packages all that the user has to install, whichever of them is missing
 * @throws `usage` if one of them is not installed, otherwise the error itself
 */
export function explainMissing(
  purpose: string,
  packages: readonly string[],
): (error: unknown) => never {
  return (error) => {
    if (!packages.some((name) => isNotInstalled(name, error))) throw error;
    const command = `npm install ${packages.join(" ")}`;
    throw new StorageError(
      "usage",
      `${purpose} needs packages that @idk/storage does not install by itself: ${command}`,
      { cause: error },
    );
  };
}

/** Whether a package itself is missing, rather than one of its dependencies or files. */
function isNotInstalled(name: string, error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  const isMissing = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
  // Node names the package, Bun the specifier.
  return isMissing && new RegExp(`^[^']*'${name}['/]`, "u").test(String(message));
}

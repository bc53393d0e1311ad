import { CatalogError } from "../catalog.ts";

/** How long to try while another process has the database locked, in ms. */
const BUSY_TIME = 30_000;
const [BUSY, LOCKED, CORRUPT, NOTADB] = [5, 6, 11, 26] as const;

/** Repeats a call while another process has the database locked, without blocking this thread. */
export async function attempt<T>(call: () => T): Promise<T> {
  const end = performance.now() + BUSY_TIME;
  for (let tries = 0; ; tries++) {
    try {
      return call();
    } catch (error) {
      const code = sqliteCode(error);
      if ((code !== BUSY && code !== LOCKED) || performance.now() > end)
        throw asCatalogError(error);
    }
    // Random, so that two processes do not keep meeting.
    await Bun.sleep(Math.random() * Math.min(1 + tries, 20));
  }
}

function sqliteCode(error: unknown): number | undefined {
  const { code, errno } = (error ?? {}) as { code?: unknown; errno?: unknown };
  if (typeof code !== "string" || !code.startsWith("SQLITE")) return undefined;
  return typeof errno === "number" ? errno & 0xff : undefined;
}

/** An error of SQLite as one of the catalog; a fault of the program as it is. */
export function asCatalogError(error: unknown): unknown {
  const code = sqliteCode(error);
  if (!(error instanceof Error) || (code === undefined && !("syscall" in error))) return error;
  const text = error.message;
  if (code === CORRUPT || code === NOTADB) {
    return new CatalogError("damaged", `the catalog is damaged: ${text}; rebuild it`, {
      cause: error,
    });
  }
  return new CatalogError("unavailable", `the catalog cannot be used: ${text}`, { cause: error });
}

import { StorageError } from "@idk/storage";

/** Rejects if work takes longer, so that a test that hangs names what hung. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: not done after ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The StorageError that work rejects with, or undefined if it succeeds. */
export async function failureOf(work: Promise<unknown>): Promise<StorageError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof StorageError) return error;
    throw error;
  }
}

/** Polls until a condition holds. */
export async function until(holds: () => boolean, ms: number): Promise<void> {
  const end = Date.now() + ms;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`still false after ${ms} ms: ${holds.toString()}`);
    await Bun.sleep(5);
  }
}

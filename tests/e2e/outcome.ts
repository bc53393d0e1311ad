import { StorageError } from "@idk/storage";

/** Fails a test that would hang, and says what did. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what}: no end after ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The library's error that work ended with, or undefined where it succeeded. */
export async function failureOf(work: Promise<unknown>): Promise<StorageError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof StorageError) return error;
    throw error;
  }
}

/** Waits until something is so. */
export async function until(holds: () => boolean, ms: number): Promise<void> {
  const end = Date.now() + ms;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`not so after ${ms} ms: ${holds.toString()}`);
    await Bun.sleep(5);
  }
}

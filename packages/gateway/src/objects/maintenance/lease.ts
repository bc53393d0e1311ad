import type { ObjectsContext } from "../context.ts";

const DURATION = 60_000;

/**
 * Does a thing that only one process does at a time, and keeps the lease meanwhile.
 *
 * @param holder a random name
 * @param work checks before each step that deletes something that `isHeld` is still true
 * @returns false if another process has the lease
 */
export async function withLease(
  { catalog, now, warn }: ObjectsContext,
  name: string,
  holder: string,
  work: (isHeld: () => boolean) => Promise<void>,
): Promise<boolean> {
  let until = now() + DURATION;
  if (!(await catalog.takeLease(name, holder, now(), DURATION))) return false;
  const renew = async (): Promise<void> => {
    const asked = now();
    if (await catalog.takeLease(name, holder, asked, DURATION)) until = asked + DURATION;
  };
  const timer = setInterval(() => {
    renew().catch((error: unknown) => warn(`the lease ${name} cannot be renewed`, error));
  }, DURATION / 3);
  timer.unref();
  try {
    await work(() => now() < until);
    return true;
  } finally {
    clearInterval(timer);
    await catalog.endLease(name, holder).catch((error: unknown) => {
      warn(`the lease ${name} stays until it expires`, error);
    });
  }
}

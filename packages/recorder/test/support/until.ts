/** Waits until something holds, for 20 s at most: what does not then fails in the test. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 20_000;
  while (performance.now() < end && !(await condition())) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A module for a thread that starts and never reports. */
export async function warmUp(): Promise<void> {
  return new Promise(() => {});
}

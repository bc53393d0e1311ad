/**
 * To be passed between measurements: lets the event loop turn, and ends what was aborted. Work that
 * never waits for anything outside of the process would otherwise keep Ctrl-C from being heard.
 *
 * @throws the signal's reason
 */
export async function checkpoint(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  signal?.throwIfAborted();
}

/**
 * Listens for the first of several events.
 *
 * @returns stops listening
 */
export function onAny(
  emitter: NodeJS.EventEmitter,
  events: readonly string[],
  done: () => void,
): () => void {
  for (const event of events) emitter.on(event, done);
  return () => {
    for (const event of events) emitter.off(event, done);
  };
}

/** A stream that yields these pieces. */
export async function* yielding<T>(pieces: Iterable<T>): AsyncGenerator<T> {
  yield* pieces;
}

/** A source that counts calls, with given results for `next` and `return`. */
export interface Watched extends AsyncIterable<Uint8Array> {
  readonly asked: { next: number; return: number };
}

export function watched(
  next: (count: number) => Promise<IteratorResult<Uint8Array>>,
  onReturn: () => Promise<IteratorResult<Uint8Array>> = async () => ({
    done: true,
    value: undefined,
  }),
): Watched {
  const asked = { next: 0, return: 0 };
  return {
    asked,
    [Symbol.asyncIterator]: () => ({
      next: () => next(asked.next++),
      return: () => {
        asked.return++;
        return onReturn();
      },
    }),
  };
}

/** A promise that never settles. */
export function never(): Promise<never> {
  return new Promise<never>(() => {});
}

export const piece = (...bytes: readonly number[]): IteratorResult<Uint8Array> => ({
  done: false,
  value: Uint8Array.from(bytes),
});

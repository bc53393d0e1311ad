type Zlib = typeof import("node:zlib");

/** Which of the runtime's functions there have to be. */
type Opener = "createZstdCompress" | "createZstdDecompress";

/**
 * The runtime's zlib, if it has zstd. Asked for at run time, so that a bundle for the browser never
 * names it.
 */
export function zlibWith(opener: Opener): Zlib | undefined {
  const zlib: Partial<Zlib> | undefined =
    typeof process === "undefined" ? undefined : process.getBuiltinModule?.("node:zlib");
  return zlib?.[opener] && zlib.constants ? zlib : undefined;
}

/** A codec of the runtime, which works in another thread and waits where its output is not taken. */
export interface CodecStream {
  /**
   * Feeds a part and hands out what that gives. The part must stay as it is until the generator
   * ends, and for good where it is left early. One at a time.
   */
  write(part: Uint8Array): AsyncGenerator<Uint8Array>;
  /** Ends the input and hands out the rest. */
  end(): AsyncGenerator<Uint8Array>;
  close(): void;
}

/** @param failed makes the error to throw where the codec fails */
export function codecStream(
  stream: import("node:stream").Transform,
  failed: (cause: Error) => Error,
): CodecStream {
  let failure: Error | undefined;
  let ended = false;
  let wake = () => {};
  stream.on("readable", () => wake());
  stream.on("error", (error) => {
    failure ??= error;
    wake();
  });
  stream.on("close", () => {
    if (!ended) failure ??= new Error("the codec closed early");
    wake();
  });

  async function* run(start: (done: (error?: Error | null) => void) => void) {
    let done = false;
    start((error) => {
      failure ??= error ?? undefined;
      done = true;
      wake();
    });
    for (;;) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const piece = stream.read() as Uint8Array | null;
      if (failure) throw failed(failure);
      if (piece) yield piece;
      else if (done) return;
      else await woken;
    }
  }

  return {
    write: (part) => run((done) => stream.write(part, done)),
    end: () =>
      run((done) => {
        stream.once("end", () => {
          ended = true;
          done();
        });
        stream.end();
      }),
    close: () => stream.destroy(),
  };
}

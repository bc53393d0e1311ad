const EMPTY = new Uint8Array();

/** Takes lines and lengths of bytes from a stream. Pulls nothing before it is needed. */
export interface ByteReader {
  /**
   * The next line without its CRLF, Latin-1.
   *
   * @param max the most bytes it may have
   * @param orLf accept LF CR LF as its end, too
   * @returns undefined if the stream ends before, the line is longer, or it ends in another LF
   */
  line(max: number, orLf?: boolean): Promise<string | undefined>;
  /** From 1 to `max` of the next bytes, a view; undefined at the end. `max` must be more than 0. */
  take(max: number): Promise<Uint8Array | undefined>;
  isAtEnd(): Promise<boolean>;
  /** Gives up on what is left. */
  close(): Promise<void>;
}

export function createByteReader(source: AsyncIterable<Uint8Array>): ByteReader {
  const iterator = source[Symbol.asyncIterator]();
  let piece: Uint8Array = EMPTY;

  /** Whether there are bytes in `piece`, if necessary after a pull. */
  const fill = async (): Promise<boolean> => {
    while (piece.length === 0) {
      const next = await iterator.next();
      if (next.done === true) return false;
      piece = next.value;
    }
    return true;
  };
  const take = async (max: number): Promise<Uint8Array | undefined> => {
    if (!(await fill())) return undefined;
    const taken = piece.subarray(0, max);
    piece = piece.subarray(taken.length);
    return taken;
  };
  const line = async (max: number, orLf = false): Promise<string | undefined> => {
    let text = "";
    while (text.length < max + 2 && (await fill())) {
      const room = max + 2 - text.length;
      const end = piece.subarray(0, room).indexOf(0x0a);
      const taken = await take(end === -1 ? room : end + 1);
      text += Buffer.from(taken!).toString("latin1");
      if (end === -1) continue;
      if (text.endsWith("\r\n")) return text.slice(0, -2);
      return orLf && (await line(0)) === "" ? text.slice(0, -1) : undefined;
    }
    return undefined;
  };
  return {
    take,
    line,
    async isAtEnd() {
      return !(await fill());
    },
    async close() {
      await iterator.return?.();
    },
  };
}

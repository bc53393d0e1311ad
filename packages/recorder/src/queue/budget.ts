/** The bytes that are captured and not yet in the spool, over all exchanges. */
export interface Budget {
  /** Bytes taken now. */
  used(): number;
  /** Takes bytes for a body, or returns false if that is too many. The last eighth is for records. */
  takeForBody(bytes: number): boolean;
  /** Takes bytes for the rest of a record, or returns false. */
  takeForRecord(bytes: number): boolean;
  /** Takes bytes that are already there, in place of others that are released next. */
  move(bytes: number): void;
  release(bytes: number): void;
}

/** @param limit bytes: an integer */
export function createBudget(limit: number): Budget {
  const bodyLimit = limit - Math.floor(limit / 8);
  let used = 0;
  const take = (bytes: number, most: number): boolean => {
    if (used + bytes > most) return false;
    used += bytes;
    return true;
  };
  return {
    used: () => used,
    takeForBody: (bytes) => take(bytes, bodyLimit),
    takeForRecord: (bytes) => take(bytes, limit),
    move: (bytes) => {
      used += bytes;
    },
    release: (bytes) => {
      used -= bytes;
    },
  };
}

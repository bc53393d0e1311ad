/** What a file goes through, in this order. */
export const STAGES = ["read", "compress", "key", "encrypt", "encode", "write"] as const;

export type Stage = (typeof STAGES)[number];

/** Seconds of each stage, of one file. */
export type StageTimes = Readonly<Record<Stage, number>>;

/** Adds up the seconds between laps, for one file. */
export function stopwatch(): { lap(stage: Stage): void; times(): StageTimes } {
  const times: Record<Stage, number> = {
    read: 0,
    compress: 0,
    key: 0,
    encrypt: 0,
    encode: 0,
    write: 0,
  };
  let last = performance.now();
  return {
    lap(stage) {
      const now = performance.now();
      times[stage] += (now - last) / 1000;
      last = now;
    },
    times: () => times,
  };
}

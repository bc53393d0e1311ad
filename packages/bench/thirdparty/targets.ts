import type { Target } from "../src/harness/measure.ts";

/** Seconds, by contender. */
export type Times = Readonly<Record<string, number>>;

/**
 * Targets relative to programs that encrypt: put at twice the speed of rclone crypt and restic and not
 * slower than any, get at 1.2 times the speed of the fastest.
 *
 * @param competitors names of the programs that encrypt, without idk
 */
export function peerTargets(put: Times, get: Times, competitors: readonly string[]): Target[] {
  const times = (name: string, table: Times) => table[name]! / table["idk"]!;
  const fastest = competitors.reduce((a, b) => (get[b]! < get[a]! ? b : a));
  return [
    ...competitors.map((name) => ({
      name: `put, speed relative to ${name}`,
      value: times(name, put),
      least: name === "rclone crypt" || name === "restic" ? 2 : 1,
    })),
    {
      name: `get, speed relative to the fastest, ${fastest}`,
      value: times(fastest, get),
      least: 1.2,
    },
  ];
}

/**
 * A process that forwards TCP connections through one line of a limited rate: toxiproxy limits each connection
 * by itself, so that more connections would make a wider line. It is a process of its own, because what it
 * does must not count as CPU time of a suite.
 */
import { type AddressInfo, type Socket, connect, createServer } from "node:net";
import { Transform, pipeline } from "node:stream";
import { answerJob } from "../harness/processes.ts";

export interface LineJob {
  readonly hostname: string;
  readonly port: number;
  /** Bytes per second in each direction. */
  readonly rate: number;
}

/**
 * Milliseconds that the line may have been idle and still make up for: timers fire late, by 1 ms or more on a
 * busy machine.
 */
const LATE_MOST = 5;

/** Bytes of each connection that may wait, as in the buffer of a router. */
const WAITING_MOST = 64 * 2 ** 10;

/**
 * One direction of a line that all connections share.
 *
 * @param rate bytes per second
 * @returns says how many milliseconds, 0 or less for none, a piece of so many bytes has to wait that arrives
 *   at a time in milliseconds, not before an earlier one
 */
export function paced(rate: number): (bytes: number, now: number) => number {
  let free = -Infinity;
  return (bytes, now) => {
    free = Math.max(free, now - LATE_MOST) + (1000 * bytes) / rate;
    return free - now;
  };
}

function slowly(pace: ReturnType<typeof paced>): Transform {
  return new Transform({
    highWaterMark: WAITING_MOST,
    transform(piece: Uint8Array, _, done) {
      const wait = pace(piece.length, performance.now());
      if (wait <= 0) done(null, piece);
      else setTimeout(done, wait, null, piece);
    },
  });
}

await answerJob(async ({ hostname, port, rate }: LineJob): Promise<string> => {
  const [up, down] = [paced(rate), paced(rate)];
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client: Socket) => {
    const store = connect({ host: hostname, port, allowHalfOpen: true, noDelay: true });
    // A pipeline destroys both of its ends if one fails, which also ends the other pipeline.
    pipeline(client, slowly(up), store, () => {});
    pipeline(store, slowly(down), client, () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  console.log((server.address() as AddressInfo).port);
  // Until its parent is done or gone.
  for await (const _ of process.stdin);
  return "ended";
});

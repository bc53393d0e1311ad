/** Contents that boto3 uploads and downloads in parts of 5 MiB, three at once: the gateway beside its store. */
import { join } from "node:path";
import { sizeName } from "../../harness/content.ts";
import { watchLoad } from "../../harness/machine.ts";
import { run } from "../../harness/processes.ts";
import { labelsFor } from "../../harness/results.ts";
import { type Lane, type Sampled, sampleLanes } from "../../harness/sampling.ts";
import { type Bound, ratioTarget, unlessBusy } from "../../harness/targets.ts";
import { clearBlobs } from "../../object-store/scratch.ts";
import type { Target } from "../../report/report.ts";
import type { ObjectStoreAccess, SuiteContext } from "../../suite.ts";
import { pythonFrom } from "./python.ts";
import { BUDGET, ROUNDS, type Sides } from "./sides.ts";

const SCRIPT = join(import.meta.dirname, "boto3-transfers.py");
const WAYS = ["up", "down"] as const;

/** Bytes of contents beside which what each transfer costs once does not count. */
const LARGE = 500e6;

/** The least share of the rate of the store itself. Client, gateway and store share the cores. */
function shareOf(way: (typeof WAYS)[number], size: number): Bound {
  const [least, goal] = way === "up" ? [0.3, 0.45] : [0.2, 0.25];
  return size >= LARGE ? { least: goal } : { least, goal };
}

/** @param below where the gateway keeps its blobs */
export function transfers(
  { direct, gateway, pid }: Sides,
  below: ObjectStoreAccess,
  sizes: readonly number[],
  { quick, iterations, env, signal, log }: SuiteContext,
): Promise<Sampled> {
  const load = watchLoad(pid);
  const laneOf = (who: string, access: ObjectStoreAccess, stored: ObjectStoreAccess): Lane => ({
    labels: sizes.flatMap((size) => WAYS.map((way) => labelsFor(size)(`${way}, ${who}`))),
    async sample() {
      await load.look();
      const job = { ...access, sizes };
      const program = {
        argv: [pythonFrom(env), SCRIPT],
        env: { IDK_BENCH_JOB: JSON.stringify(job) },
        signal,
      };
      const times = (JSON.parse((await run(program)).stdout) as number[][]).flat();
      // Each time, because the objects of all rounds may be more than a disk holds.
      await clearBlobs(stored);
      log(`${who}: ${times.map((seconds) => seconds.toFixed(2)).join(", ")} s`);
      return times.map((seconds) => ({ seconds }));
    },
  });
  const lanes = [laneOf("gateway", gateway, below), laneOf("direct", direct, direct)];
  const rounds = iterations ?? (quick ? 1 : ROUNDS);
  return sampleLanes(lanes, { rounds, budget: BUDGET, warmups: 0, signal }, (of): Target[] =>
    sizes.flatMap((size) =>
      WAYS.map((way) => {
        const sideOf = (who: string) => of(labelsFor(size)(`${way}, ${who}`).name);
        const ratio = { of: sideOf("direct"), to: sideOf("gateway") };
        const name = `${way} ${sizeName(size)}: rate to that of the store itself`;
        const target = ratioTarget(name, ratio, shareOf(way, size));
        return unlessBusy(target, load.isBusy());
      }),
    ),
  );
}

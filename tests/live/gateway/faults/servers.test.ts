import { describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  missingPostgres,
  type PostgresProcess,
  startPostgres,
} from "../../../servers/postgres-process.ts";
import { skipIfMissing } from "../../../servers/require-server.ts";
import { newBucket } from "../../../servers/s3-servers.ts";
import {
  installedServers,
  type ServerProcess,
  startServer,
} from "../../../servers/server-process.ts";
import { s3Requests } from "../s3-requests.ts";
import { expectWhole } from "./afterwards.ts";
import { createContents } from "./contents.ts";
import { createHistory, isUnknown } from "./history.ts";
import { newLoad, readAll, repeatCompletes, underLoad } from "./load.ts";
import { violationOf } from "./checker/model.ts";
import { createWorld } from "./world.ts";

/*
 * What a gateway depends on fails under load, and comes back. The gateway itself stays, and needs nobody to
 * restart it.
 */

setDefaultTimeout(600_000);

const SLOW = process.env["IDK_TEST_SLOW"] === "1";
const CLIENTS = 8;
const BUCKET = "faults";

type Server = Pick<ServerProcess, "kill" | "start" | "pause" | "resume">;

/** What happens to a server, and for how long. */
const FAULTS = {
  killed: async (server: Server, ms: number): Promise<void> => {
    await server.kill();
    await Bun.sleep(ms);
    await server.start();
  },
  stalled: async (server: Server, ms: number): Promise<void> => {
    server.pause();
    await Bun.sleep(ms);
    server.resume();
  },
} as const;

interface Fault {
  readonly kind: keyof typeof FAULTS;
  readonly ms: number;
}

async function failUnderLoad(which: "store" | "catalog", faults: readonly Fault[]): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const minio = await startServer("minio");
  stack.defer(async () => minio.remove());
  const postgres: PostgresProcess = await startPostgres();
  stack.defer(async () => postgres.remove());
  const bucket = await newBucket(minio);
  // Some calls give up while the store is away, and others wait for it.
  const env = { IDK_RETRY_SECONDS: "2" };
  const world = stack.use(await createWorld({ bucket, catalog: postgres.url, env }));
  const gateway = await world.serve();
  const requests = stack.use(s3Requests(gateway));
  expect((await requests.send("PUT", `/${BUCKET}`)).status).toBe(200);

  const history = createHistory();
  const contents = createContents();
  const load = newLoad({
    requests,
    bucket: BUCKET,
    groups: ["x/", "y/", "z/"],
    history,
    contents,
  });
  const server: Server = which === "store" ? minio : postgres;
  const progress: number[] = [];
  await underLoad(CLIENTS, load, async () => {
    for (const { kind, ms } of faults) {
      await Bun.sleep(1000);
      await FAULTS[kind](server, ms);
      // It goes on by itself.
      const before = load.answered;
      const end = performance.now() + 60_000;
      while (load.answered < before + 20 && performance.now() < end) await Bun.sleep(50);
      progress.push(load.answered - before);
      // What a stalled server had received takes effect when it goes on, and not much later.
      await Bun.sleep(1000);
      history.settle();
    }
  });
  expect(progress.filter((count) => count < 20)).toEqual([]);
  history.settle();
  await repeatCompletes(load);
  const objects = await readAll(load);
  expect(load.faults).toEqual([]);
  expect(load.unanswered).toEqual([]);
  const calls = history.calls();
  expect(violationOf(calls) ?? "").toBe("");
  const open = calls.filter(({ operation }) => isUnknown(operation)).length;
  console.log(`${which}: ${calls.length} requests, ${open} writes without an answer`);
  expect(await gateway.stop()).toBe(0);
  await expectWhole(world, { bucket: BUCKET, objects, contents });
}

const missing = [
  ...(installedServers().includes("minio") ? [] : ["executable of MinIO"]),
  ...missingPostgres,
];

skipIfMissing(missing)("nothing is lost, and nothing is left, while under load", () => {
  test("the store is killed and started again, and stalls", async () => {
    await failUnderLoad("store", [
      { kind: "killed", ms: 1500 },
      { kind: "stalled", ms: 3000 },
    ]);
  });

  test("PostgreSQL is killed and started again, and stalls", async () => {
    await failUnderLoad("catalog", [
      { kind: "killed", ms: 1000 },
      { kind: "stalled", ms: 3000 },
    ]);
  });
});

// Longer than anybody waits for an answer.
(SLOW ? skipIfMissing(missing) : describe.skip)("nothing is lost while for 40 s", () => {
  test.each(["store", "catalog"] as const)("the %s stalls, or is away", async (which) => {
    await failUnderLoad(which, [
      { kind: "stalled", ms: 40_000 },
      { kind: "killed", ms: 40_000 },
      { kind: "killed", ms: 100 },
      { kind: "killed", ms: 100 },
      { kind: "stalled", ms: 40_000 },
    ]);
  });
});

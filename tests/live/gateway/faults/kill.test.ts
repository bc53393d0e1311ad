import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { installedServers, startServer } from "../../../servers/server-process.ts";
import { missingPostgres, startPostgres } from "../../../servers/postgres-process.ts";
import { skipIfMissing } from "../../../servers/require-server.ts";
import { newBucket } from "../../../servers/s3-servers.ts";
import { s3Requests } from "../s3-requests.ts";
import { expectWhole } from "./afterwards.ts";
import { createContents } from "./contents.ts";
import { createHistory, isUnknown } from "./history.ts";
import { type Load, newLoad, readAll, repeatCompletes, underLoad } from "./load.ts";
import { type Objects, violationOf } from "./checker/model.ts";
import { createWorld, type World } from "./world.ts";

/*
 * A gateway that is killed under load, and started again, over and over. IDK_GATEWAY_KILLS sets how often in
 * each world, and IDK_GATEWAY_WORLDS how many there are.
 */

setDefaultTimeout(1_200_000);

const SLOW = process.env["IDK_TEST_SLOW"] === "1";
const KILLS = Number(process.env["IDK_GATEWAY_KILLS"] ?? (SLOW ? 20 : 8));
const WORLDS = Number(process.env["IDK_GATEWAY_WORLDS"] ?? (SLOW ? 5 : 1));
const CLIENTS = 8;
const BUCKET = "faults";
/** Keys of this prefix are used by all rounds. */
const SHARED = "shared/";

/** Kills gateways of a world, and expects after each that all is as clients were told. */
async function killOften(world: World, kills: number): Promise<void> {
  const contents = createContents();
  const everything = new Map<string, string>();
  let before: Objects = new Map();
  let [requests, unanswered] = [0, 0];
  let gateway = await world.serve();
  const first = s3Requests(gateway);
  expect((await first.send("PUT", `/${BUCKET}`)).status).toBe(200);
  for (let round = 1; round <= kills; round += 1) {
    const history = createHistory();
    const load = newLoad({
      requests: s3Requests(gateway),
      bucket: BUCKET,
      groups: [SHARED, `${round}/x/`, `${round}/y/`],
      joint: [`${round}/y/`],
      history,
      contents,
    });
    await underLoad(CLIENTS, load, async () => {
      // Mostly in the middle of the load, sometimes right at its beginning.
      await Bun.sleep(Math.random() * (round % 6 === 0 ? 30 : 1200));
      await gateway.stop("SIGKILL");
    });
    load.requests[Symbol.dispose]();
    // What is dead changes nothing any more.
    gateway = await world.serve();
    history.settle();

    const after: Load = { ...load, requests: s3Requests(gateway) };
    await repeatCompletes(after);
    const found = await readAll(after);
    after.requests[Symbol.dispose]();
    expect(after.faults).toEqual([]);
    expect(after.unanswered).toEqual([]);
    const calls = history.calls();
    expect(violationOf(calls, before) ?? "").toBe("");
    requests += calls.length;
    unanswered += calls.filter(({ operation }) => isUnknown(operation)).length;
    before = new Map([...found].filter(([key]) => key.startsWith(SHARED)));
    for (const key of everything.keys()) if (key.startsWith(SHARED)) everything.delete(key);
    for (const [key, etag] of found) everything.set(key, etag);
  }
  expect(await gateway.stop()).toBe(0);
  console.log(`${kills} kills, ${requests} requests, ${unanswered} writes without an answer`);
  expect(unanswered).toBeGreaterThan(0);
  await expectWhole(world, { bucket: BUCKET, objects: everything, contents });
}

describe("a gateway that is killed under load loses nothing, and leaves nothing", () => {
  test.each(Array.from({ length: WORLDS }, (_, index) => index + 1))(
    "over a folder and SQLite: %d",
    async () => {
      await using world = await createWorld();
      await killOften(world, KILLS);
    },
  );
});

const missing = [
  ...(installedServers().includes("minio") ? [] : ["executable of MinIO"]),
  ...missingPostgres,
];
(SLOW ? skipIfMissing(missing) : describe.skip)("a gateway that is killed under load", () => {
  test.each(Array.from({ length: WORLDS }, (_, index) => index + 1))(
    "loses nothing over MinIO and PostgreSQL, and leaves nothing: %d",
    async () => {
      const minio = await startServer("minio");
      const postgres = await startPostgres();
      try {
        const bucket = await newBucket(minio);
        await using world = await createWorld({ bucket, catalog: postgres.url });
        await killOften(world, KILLS);
      } finally {
        await postgres.remove();
        await minio.remove();
      }
    },
  );
});

/** Memory of a server that records while its store does not answer, beside one without a recorder. */
import { setTimeout as sleep } from "node:timers/promises";
import { generateIdentity } from "@idk/storage";
import { withFolder } from "../../harness/files.ts";
import { type Findings, measurementOf } from "../../harness/results.ts";
import { exactTarget } from "../../harness/targets.ts";
import type { ObjectStoreAccess, SuiteContext } from "../../suite.ts";
import { type RecordedServer, startServer } from "./recorded-server.ts";
import type { Usage } from "./server.ts";

const MIB = 2 ** 20;
const GROWTH = { most: 96 * MIB, goal: 48 * MIB };

/** Requests a second: 1.3 MB of bodies, which fill the spool of 256 MiB in four minutes. */
const RATES = { simple: 100, medium: 20 };

/** Of memory, in all. */
const LOOKS = 100;

/** The option `seconds` says how long the store does not answer, by default a minute. */
export function recorderOutage({
  options = {},
  quick,
  signal,
  log,
}: SuiteContext): Promise<Findings> {
  const seconds = Number(options["seconds"] ?? (quick ? 5 : 60));
  return withFolder(async (folder) => {
    log(`${seconds} s without a store`);
    const silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } });
    await using ended = new AsyncDisposableStack();
    ended.defer(() => silent.stop(true));
    const access: ObjectStoreAccess = {
      endpoint: `http://127.0.0.1:${silent.port}`,
      region: "us-east-1",
      bucket: "silent",
      prefix: "",
      accessKeyId: "none",
      secretAccessKey: "none",
    };
    const given = { folder, access, identity: await generateIdentity(), signal };
    const bare = ended.use(await startServer("disabled", given));
    const recording = ended.use(await startServer("active", given));
    const looks = await watch([bare, recording], seconds);
    const [[without], [recorded]] = looks.map((own) => own.slice(-1)) as [Usage[], Usage[]];
    const { seen, stored, uploaded } = recorded!.stats!;
    const count = seconds * (RATES.simple + RATES.medium);
    if (seen !== count || stored === 0 || uploaded > 0) {
      throw new Error(`${count} requests without a store: ${JSON.stringify(recorded!.stats)}`);
    }
    const name = `${seconds} s without a store`;
    const growth = recorded!.peak - without!.peak;
    return {
      measurements: ["disabled", "active"].map((mode, i) => {
        const labels = { name: `${name}, ${mode}`, table: "memory", series: mode };
        const memory = looks[i]!.map(({ heap, rss }, look) => ({
          at: (look * seconds) / LOOKS,
          rss,
          heap,
        }));
        return measurementOf(labels, [{ seconds, peakRss: looks[i]!.at(-1)!.peak, memory }]);
      }),
      targets: [
        exactTarget(`${name}: peak memory beyond that without a recorder`, growth, "bytes", GROWTH),
      ],
    };
  });
}

/** Sends both servers the same requests. The last look is after all of them. */
async function watch(servers: readonly RecordedServer[], seconds: number): Promise<Usage[][]> {
  const loads = servers.flatMap((server) =>
    Object.entries(RATES).map(([endpoint, rate]) =>
      server.load({ endpoint, count: rate * seconds, rate }),
    ),
  );
  const all = Promise.all(loads);
  all.catch(() => {});
  const looks: Usage[][] = servers.map(() => []);
  for (let look = 0; look < LOOKS; look++) {
    for (const [i, server] of servers.entries()) looks[i]!.push(await server.usage("look"));
    await Promise.race([sleep((seconds * 1000) / LOOKS), all]);
  }
  await all;
  for (const [i, server] of servers.entries()) looks[i]!.push(await server.usage("look"));
  return looks;
}

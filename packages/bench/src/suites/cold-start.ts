/** The start-up time of the command, as published and from its sources, beside that of Bun. */
import { randomBytes } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createStore, formatIdentity, generateIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { isolatedUserFolders, temporaryFolder } from "../harness/files.ts";
import { RUNTIME_FLAGS, SOURCES, publishedCommand, run } from "../harness/processes.ts";
import type { Findings } from "../harness/results.ts";
import { type Lane, sampleLanes } from "../harness/sampling.ts";
import { type Bound, ratioTarget } from "../harness/targets.ts";
import { seededRandom } from "../statistics/random.ts";
import type { SuiteContext } from "../suite.ts";
import { expectBytes, sha256 } from "../harness/content.ts";

const ENGINE = "bun -e 0";
/** The time of each command as a multiple of that of Bun with a script that does nothing. */
const BOUNDS: Readonly<Record<string, Bound>> = {
  "--help": { most: 2.5 },
  put: { most: 9, goal: 5 },
  get: { most: 9, goal: 5 },
  stat: { most: 9, goal: 5 },
};

export async function coldStart(context: SuiteContext): Promise<Findings> {
  const { quick, signal, seed, log } = context;
  const rounds = context.iterations ?? (quick ? 2 : 20);
  const folder = await temporaryFolder();
  try {
    const [file, keyFile, blobs, fetched] = ["file", "key", "blobs", "fetched"].map((name) =>
      join(folder, name),
    ) as [string, string, string, string];
    const content = randomBytes(1024);
    await writeFile(file, content);
    const identity = await generateIdentity();
    await writeFile(keyFile, `${formatIdentity(identity)}\n`, { mode: 0o600 });
    const store = createStore({
      backend: filesystem(blobs),
      recipients: [identity.recipient],
      identities: [identity],
    });
    const address = await store.put(content);
    const bundle = await publishedCommand();
    const env = isolatedUserFolders(folder);
    const same = (bytes: Uint8Array): void => expectBytes(bytes, sha256(content));
    const stored = async (stdout: string) => same(await (await store.get(stdout.trim())).bytes());
    const says = (expected: string) => (stdout: string) => {
      if (!stdout.includes(expected)) throw new Error(`"${expected}" is missing in: ${stdout}`);
    };
    const lane = (
      name: string,
      args: readonly string[],
      check: (stdout: string) => unknown = () => {},
    ): Lane => ({
      labels: [{ name, series: name }],
      async sample() {
        await rm(fetched, { force: true });
        const { stdout, ...sample } = await run({
          argv: [process.execPath, ...RUNTIME_FLAGS, ...args],
          env,
          signal,
        });
        await check(stdout);
        return [sample];
      },
    });
    const put = ["put", file, "-r", identity.recipient, "--store", blobs];
    const get = ["get", address, "-i", keyFile, "--store", blobs, "-o", fetched];
    const stat = ["stat", address, "-i", keyFile, "--store", blobs];
    log(`${rounds} rounds`);
    const lanes = [
      lane(ENGINE, ["-e", "0"]),
      lane("idk --help", [bundle, "--help"], says("idk put")),
      lane("idk put", [bundle, ...put], stored),
      lane("idk get", [bundle, ...get], async () => same(await readFile(fetched))),
      lane("idk stat", [bundle, ...stat], says("1024")),
      lane("put, from sources", [SOURCES, ...put], stored),
    ];
    const random = seededRandom(seed);
    const { measurements, targets } = await sampleLanes(lanes, { rounds, signal, seed }, (of) =>
      Object.entries(BOUNDS).map(([command, bound]) => {
        const name = `idk ${command}`;
        const title = `${name}: time to that of ${ENGINE}`;
        return ratioTarget(title, { of: of(name), to: of(ENGINE) }, bound, random);
      }),
    );
    return {
      measurements,
      targets,
      notes: ["put, get and stat of 1 KiB, in a folder, of which most is start-up."],
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

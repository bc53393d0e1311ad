/** The start-up time of the command, as published and from its sources, beside that of Bun. */
import { randomBytes } from "node:crypto";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { generateIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { expectBytes, sha256 } from "../../harness/content.ts";
import { withFolder } from "../../harness/files.ts";
import { storeOf } from "../../harness/identity.ts";
import { watchLoad } from "../../harness/machine.ts";
import {
  type Program,
  RUNTIME_FLAGS,
  SOURCES,
  publishedCommand,
  run,
  runAside,
} from "../../harness/processes.ts";
import type { Findings } from "../../harness/results.ts";
import { type Lane, sampleLanes } from "../../harness/sampling.ts";
import { type Bound, ratioTarget, unlessBusy } from "../../harness/targets.ts";
import type { SuiteContext } from "../../suite.ts";
import { commandOf } from "./programs.ts";

const ENGINE = "bun -e 0";
/**
 * The time of each command as a multiple of that of Bun with a script that does nothing. It differs between
 * processors; that of `idk snapshots` is 12 to 14 on an Intel Xeon.
 */
const BOUNDS: Readonly<Record<string, Bound>> = {
  "idk --help": { most: 2.5 },
  "idk put": { most: 9, goal: 5 },
  "idk get": { most: 9, goal: 5 },
  "idk stat": { most: 9, goal: 5 },
  "idk snapshots": { most: 16, goal: 5 },
};

export async function coldStart(context: SuiteContext): Promise<Findings> {
  const { quick, signal, log } = context;
  const rounds = context.iterations ?? (quick ? 2 : 20);
  return withFolder(async (folder) => {
    const [file, blobs, fetched, backups] = [
      join(folder, "file"),
      join(folder, "blobs"),
      join(folder, "fetched"),
      join(folder, "backups"),
    ];
    const content = randomBytes(1024);
    await writeFile(file, content);
    const identity = await generateIdentity();
    const store = storeOf(identity, { backend: filesystem(blobs) });
    const address = await store.put(content);
    const idk = await commandOf(await publishedCommand(), folder, identity);
    const sources = await commandOf(SOURCES, folder, identity);
    await run({ ...idk.backup(file, "daily", backups), signal });
    const same = (bytes: Uint8Array): void => expectBytes(bytes, sha256(content));
    const stored = async (stdout: string) => same(await (await store.get(stdout.trim())).bytes());
    const says = (expected: string) => (stdout: string) => {
      if (!stdout.includes(expected)) throw new Error(`"${expected}" is missing in: ${stdout}`);
    };
    const load = watchLoad();
    const lane = (name: string, program: Program, check: (stdout: string) => unknown): Lane => ({
      labels: [{ name, series: name }],
      async sample() {
        await rm(fetched, { force: true });
        const { stdout, ...sample } = await runAside({ ...program, signal });
        await check(stdout);
        return [sample];
      },
    });
    log(`${rounds} rounds`);
    const lanes = [
      lane(ENGINE, { argv: [process.execPath, ...RUNTIME_FLAGS, "-e", "0"] }, load.look),
      lane("idk --help", idk.help(), says("Usage: idk COMMAND")),
      lane("idk put", idk.put(file, blobs), stored),
      lane("idk get", idk.get(address, blobs, fetched), async () => same(await readFile(fetched))),
      lane("idk stat", idk.stat(address, blobs), says("1024")),
      lane("idk snapshots", idk.snapshots(backups), says("daily")),
      lane("put, from sources", sources.put(file, blobs), stored),
    ];
    const sampled = await sampleLanes(lanes, { rounds, signal }, (of) =>
      Object.entries(BOUNDS).map(([name, bound]) => {
        const title = `${name}: time to that of ${ENGINE}`;
        const ratio = { of: of(name), to: of(ENGINE) };
        return unlessBusy(ratioTarget(title, ratio, bound), load.isBusy());
      }),
    );
    const notes = [
      "put, get and stat of 1 KiB, and a list of one snapshot, in a folder, of which most is start-up. Peaks are not reported below that of a small Bun process.",
    ];
    return { ...sampled, notes };
  });
}

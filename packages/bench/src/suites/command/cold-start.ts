/** The start-up time of the command, as scripts, as the executable for download and from its sources, beside that of Bun. */
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
  releasedCommand,
  run,
  runAside,
} from "../../harness/processes.ts";
import type { Findings } from "../../harness/results.ts";
import { type Lane, sampleLanes } from "../../harness/sampling.ts";
import { type Bound, ratioTarget, unlessBusy } from "../../harness/targets.ts";
import type { SuiteContext } from "../../suite.ts";
import { commandOf } from "./programs.ts";

const ENGINE = "bun -e 0";
/** What the names of the executable's measurements end with. */
const EXECUTABLE = ", executable";
/**
 * The time of each command as a multiple of that of Bun with a script that does nothing. It differs between
 * processors: on an Intel Xeon, it was a fifth more than on an AMD EPYC.
 */
const BOUNDS: Readonly<Record<string, Bound>> = {
  "idk --help": { most: 2.5 },
  "idk put": { most: 9, goal: 5 },
  "idk get": { most: 9, goal: 5 },
  "idk stat": { most: 9, goal: 5 },
  "idk snapshots": { most: 16, goal: 5 },
  [`idk --help${EXECUTABLE}`]: { most: 2 },
  [`idk put${EXECUTABLE}`]: { most: 6.5, goal: 5 },
  [`idk get${EXECUTABLE}`]: { most: 6.5, goal: 5 },
  [`idk stat${EXECUTABLE}`]: { most: 6.5, goal: 5 },
  [`idk snapshots${EXECUTABLE}`]: { most: 10, goal: 5 },
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
    log("compiling the executable");
    const executable = await commandOf(await releasedCommand(folder, signal), folder, identity);
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
    const short = (program: typeof idk, ending = ""): Lane[] => [
      lane(`idk put${ending}`, program.put(file, blobs), stored),
      lane(`idk get${ending}`, program.get(address, blobs, fetched), async () =>
        same(await readFile(fetched)),
      ),
      lane(`idk stat${ending}`, program.stat(address, blobs), says("1024")),
      lane(`idk snapshots${ending}`, program.snapshots(backups), says("daily")),
    ];
    const lanes = [
      lane(ENGINE, { argv: [process.execPath, ...RUNTIME_FLAGS, "-e", "0"] }, load.look),
      lane("idk --help", idk.help(), says("Usage: idk COMMAND")),
      ...short(idk),
      lane(`idk --help${EXECUTABLE}`, executable.help(), says("Usage: idk COMMAND")),
      ...short(executable, EXECUTABLE),
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
      "put, get and stat of 1 KiB, and a list of one snapshot, in a folder, of which most is start-up. The executable is the one that the installer downloads, the scripts are those of the npm package, here without Node's launcher. Peaks are not reported below that of a small Bun process.",
    ];
    return { ...sampled, notes };
  });
}

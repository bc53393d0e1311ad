/**
 * Puts one large file into a folder and gets it back, compared with `cp` and `sha256sum` of the same file,
 * which read, write and hash the same number of bytes. Both sides sync the file and its folder to disk,
 * may hash while the disk writes, read from the page cache, and write into an empty folder. The command is
 * timed as a process including its start-up, the library within its own process from opening the store.
 *
 * Usage: bun packages/bench/src/filesystem-large.ts [MIB] [ROUNDS]
 */
import { mkdir, open, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createStore, formatIdentity, generateIdentity, parseIdentity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import {
  sha256OfFile,
  temporaryFolder,
  isolatedUserFolders,
  syncToDisk,
  writeRandomFile,
} from "./harness/files.ts";
import { describeHost, thisHost } from "./harness/machine.ts";
import { type Sample, figure, interleavedSamples, judge, summarize } from "./harness/measure.ts";
import {
  RUNTIME_FLAGS,
  runJob,
  measureWork,
  receivedJob,
  describePeakFloor,
  publishedCommand,
  run,
  shell,
} from "./harness/processes.ts";

const MOST = 1.25;

interface Job {
  readonly blobs: string;
  readonly identity: string;
  /** The file to put, or the target of a get. */
  readonly file: string;
  /** The address to get; without it, the job is a put. */
  readonly address?: string;
}

/** The measured work of a library process. */
async function work({ blobs, identity: text, file, address }: Job) {
  const identity = parseIdentity(text);
  return measureWork(async () => {
    await using store = createStore({
      backend: filesystem(blobs),
      recipients: [identity.recipient],
      identities: [identity],
    });
    // `return await`, because returning disposes of the store and its threads.
    if (address === undefined) return await store.put(Bun.file(file));
    const output = await open(file, "wx");
    for await (const piece of (await store.get(address)).stream()) await output.write(piece);
    await output.close();
    await syncToDisk(file);
    return address;
  });
}

async function compare(mib: number, rounds: number): Promise<void> {
  const folder = await temporaryFolder();
  try {
    const bytes = mib * 2 ** 20;
    const identity = await generateIdentity();
    const keyFile = join(folder, "key");
    await writeFile(keyFile, `${formatIdentity(identity)}\n`, { mode: 0o600 });
    const source = join(folder, "source");
    await writeRandomFile(source, bytes);
    const expected = await sha256OfFile(source);
    const job = { identity: formatIdentity(identity) };

    const fresh = join(folder, "fresh");
    /** Runs a task in a new folder, with nothing left for the disk to write. */
    const inFresh = (task: () => Promise<Sample>) => async (): Promise<Sample> => {
      await rm(fresh, { recursive: true, force: true });
      await mkdir(fresh);
      await run({ argv: ["sync"] });
      return task();
    };
    const copied = join(fresh, "copy");
    const copy = inFresh(() =>
      run({
        argv: shell('cp -- "$1" "$2"; sha256sum -- "$2"; sync -- "$2" "$3"', [
          source,
          copied,
          fresh,
        ]),
      }),
    );
    const env = isolatedUserFolders(folder);
    const published = await publishedCommand();
    const command = [process.execPath, ...RUNTIME_FLAGS, published];
    const idk = (...args: string[]) => run({ argv: [...command, ...args], env });

    const put = await interleavedSamples(rounds, {
      "cp, sha256sum": copy,
      "put, library": inFresh(() =>
        runJob(import.meta.path, { ...job, blobs: join(fresh, "blobs"), file: source }),
      ),
      "put, command": inFresh(() =>
        idk("put", source, "-r", identity.recipient, "--store", join(fresh, "blobs")),
      ),
    });

    const blobs = join(folder, "blobs");
    const { result: address } = await runJob<{ result: string }>(import.meta.path, {
      ...job,
      blobs,
      file: source,
    });
    const checked = (task: () => Promise<Sample>) => async (round: number) => {
      const sample = await task();
      if (round < 0 && (await sha256OfFile(copied)) !== expected)
        throw new Error("got other bytes");
      return sample;
    };
    const get = await interleavedSamples(rounds, {
      "cp, sha256sum": copy,
      "get, library": checked(
        inFresh(() => runJob(import.meta.path, { ...job, blobs, address, file: copied })),
      ),
      "get, command": checked(
        inFresh(async () => {
          const sample = await idk("get", address, "-i", keyFile, "--store", blobs, "-o", copied);
          // The command synced the file; sync the folder entry too.
          return { ...sample, seconds: sample.seconds + (await syncToDisk(copied)) };
        }),
      ),
    });

    console.log(`${mib} MiB, ${rounds} rounds after a warm-up; ${describeHost(thisHost())}`);
    console.log("seconds as median (least to most); peak memory is that of the largest process");
    for (const [way, samples] of Object.entries({ put, get })) {
      console.log("");
      for (const [name, own] of Object.entries<Sample[]>(samples)) {
        console.log(figure(name, bytes, summarize(own)));
      }
      const seconds = (name: string) =>
        summarize((samples as Record<string, Sample[]>)[name]!).seconds;
      judge(
        [`${way}, library`, `${way}, command`].map((name) => ({
          name: `${name}, ratio to the time of cp and sha256sum`,
          value: seconds(name) / seconds("cp, sha256sum"),
          most: MOST,
        })),
      );
    }
    console.log(describePeakFloor());
  } finally {
    await rm(folder, { recursive: true });
  }
}

const job = receivedJob() as Job | undefined;
if (job) {
  console.log(JSON.stringify(await work(job)));
} else {
  const [mib = "1024", rounds = "3"] = process.argv.slice(2);
  await compare(Number(mib), Number(rounds));
}

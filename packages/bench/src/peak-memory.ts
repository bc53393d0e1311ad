/**
 * Peak resident memory of a streamed put and get, each in a process of its own, over the filesystem
 * backend with default options.
 *
 * Usage: bun packages/bench/src/peak-memory.ts [MIB…]      by default 256 2048
 */
import { createStore, formatIdentity, generateIdentity, parseIdentity } from "@idk/storage";
import { mkdtemp, rm } from "node:fs/promises";
import { filesystem } from "@idk/storage/filesystem";
import { join } from "node:path";
import { tmpdir } from "node:os";

const MIB = 2 ** 20;
const RUNS = 3;

interface Job {
  readonly mode: "put" | "get";
  readonly mib: number;
  readonly dir: string;
  readonly identity: string;
  readonly address?: string;
}

interface Outcome {
  readonly address: string;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMib: number;
}

/** One measured process: does the job and prints what it took. */
async function work({ mode, mib, dir, identity: text, address = "" }: Job): Promise<Outcome> {
  const identity = parseIdentity(text);
  const store = createStore({
    backend: filesystem(dir),
    recipients: [identity.recipient],
    identities: [identity],
  });
  const start = performance.now();
  let stored = address;
  if (mode === "put") {
    stored = await store.put(randomPieces(mib));
  } else {
    let length = 0;
    for await (const piece of (await store.get(address)).stream()) length += piece.length;
    if (length !== mib * MIB) throw new Error(`read ${length} bytes of ${mib * MIB}`);
  }
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
  return {
    address: stored,
    seconds: (performance.now() - start) / 1000,
    cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
    peakMib: maxRSS / 1024,
  };
}

async function* randomPieces(mib: number): AsyncGenerator<Uint8Array> {
  const piece = new Uint8Array(MIB);
  for (let i = 0; i < MIB; i += 65_536) crypto.getRandomValues(piece.subarray(i, i + 65_536));
  for (let i = 0; i < mib; i++) yield piece;
}

async function inProcess(job: Job): Promise<Outcome> {
  const child = Bun.spawn([process.execPath, import.meta.path, "--job", JSON.stringify(job)], {
    stderr: "inherit",
  });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error(`the ${job.mode} failed`);
  return JSON.parse(output) as Outcome;
}

const args = process.argv.slice(2);
if (args[0] === "--job") {
  console.log(JSON.stringify(await work(JSON.parse(args[1]!) as Job)));
} else {
  const identity = formatIdentity(await generateIdentity());
  console.log("mode   MiB   peak resident MiB   seconds   CPU seconds");
  for (const mib of args.length > 0 ? args.map(Number) : [256, 2048]) {
    for (let run = 0; run < RUNS; run++) {
      const dir = await mkdtemp(join(tmpdir(), "idk-bench-"));
      try {
        const put = await inProcess({ mode: "put", mib, dir, identity });
        const get = await inProcess({ mode: "get", mib, dir, identity, address: put.address });
        for (const [mode, { peakMib, seconds, cpuSeconds }] of Object.entries({ put, get })) {
          console.log(
            `${mode}  ${String(mib).padStart(5)}  ${peakMib.toFixed(0).padStart(18)}  ${seconds.toFixed(2).padStart(8)}  ${cpuSeconds.toFixed(2).padStart(12)}`,
          );
        }
      } finally {
        await rm(dir, { recursive: true });
      }
    }
  }
}

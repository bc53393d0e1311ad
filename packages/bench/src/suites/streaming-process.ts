/** One stream, up or down. streaming-throughput.ts starts it as a child process and reads its output. */
import { createStore, parseIdentity } from "@idk/storage";
import { counting } from "../harness/counting.ts";
import { watchMemory } from "../harness/memory.ts";
import { measureWork, receivedJob } from "../harness/processes.ts";
import { openBackend } from "../object-store/scratch.ts";
import {
  STREAM_STORE,
  type StreamJob,
  type StreamStore,
  type Streamed,
  hashOf,
  streamContent,
} from "./stream-job.ts";

async function stream(job: StreamJob): Promise<Streamed> {
  const { access, identity: text } = JSON.parse(process.env[STREAM_STORE] ?? "{}") as StreamStore;
  const identity = parseIdentity(text);
  const { backend, counts } = counting(openBackend(access));
  await using store = createStore({
    backend,
    recipients: [identity.recipient],
    identities: [identity],
  });
  const stop = watchMemory();
  const measured = await measureWork(async () =>
    job.way === "up"
      ? store.put(streamContent(job.size, job.seed))
      : hashOf((await store.get(job.address)).stream()),
  );
  const { points, peak } = stop();
  return { ...measured, peakRss: peak, memory: points, counts: counts() };
}

const job = receivedJob() as StreamJob | undefined;
if (job) {
  console.log(JSON.stringify(await stream(job)));
  // Open connections would keep the process alive.
  process.exit(0);
}

/*
 * Runs a backup or a prune, and kills itself with SIGKILL at a request. Takes a `Killed` as JSON, and prints
 * how many requests there were.
 */
import { type Killed, later, openAt, optionsOf } from "./kill-support.ts";
import { type Backend, wrapBackend } from "@idk/storage";
import { backup } from "../../src/write/backup.ts";
import { prune } from "../../src/maintenance/prune/prune.ts";

const job = JSON.parse(process.argv[2] ?? "") as Killed;
let requests = 0;

async function counted<T>(run: () => Promise<T>): Promise<T> {
  requests += 1;
  const isLast = requests === job.request;
  if (isLast && !job.isDone) process.kill(process.pid, "SIGKILL");
  const result = await run();
  if (isLast) process.kill(process.pid, "SIGKILL");
  return result;
}

function dying(inner: Backend): Backend {
  const call =
    <Given extends unknown[], T>(method: (...given: Given) => Promise<T>) =>
    async (...given: Given): Promise<T> =>
      counted(() => method(...given));
  const listed = <Given extends unknown[], T>(method: (...given: Given) => AsyncIterable<T>) =>
    async function* listing(...given: Given): AsyncGenerator<T> {
      yield* await counted(() => Array.fromAsync(method(...given)));
    };
  return wrapBackend(inner, {
    get: call,
    getRange: call,
    put: call,
    delete: call,
    putMarker: call,
    deleteMarker: call,
    currentTime: call,
    list: listed,
    listMarkers: listed,
  });
}

if (job.command === "backup") {
  await backup(await openAt(job, dying), optionsOf(job));
} else {
  await prune(await openAt(job, (inner) => dying(later(inner))), { concurrency: 1 });
}
process.stdout.write(`${requests}\n`);

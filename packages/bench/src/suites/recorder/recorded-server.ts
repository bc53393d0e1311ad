/** A measured server, the requests that it gets, and what is in its archive afterwards. */
import { join } from "node:path";
import { type RecordedRequest, readExchanges } from "@idk/recorder/read";
import type { Backend, Identity } from "@idk/storage";
import { storeOf } from "../../harness/identity.ts";
import { RUNTIME_FLAGS, runJob } from "../../harness/processes.ts";
import { deleteBlobs } from "../../object-store/scratch.ts";
import type { ObjectStoreAccess } from "../../suite.ts";
import { ENDPOINTS, recordedText } from "./endpoints.ts";
import type { Load, LoadJob } from "./load.ts";
import { type Mode, type Order, type ServerJob, type Usage, archiveOf } from "./server.ts";

const SERVER = join(import.meta.dirname, "server.ts");
const LOAD = join(import.meta.dirname, "load.ts");

export interface Setting {
  /** For the spool, and for the archive unless there is access to an object store. */
  readonly folder: string;
  readonly identity: Identity;
  readonly access?: ObjectStoreAccess | undefined;
  readonly signal: AbortSignal;
}

export interface RecordedServer extends AsyncDisposable {
  /** Sends requests from a process of its own. */
  load(job: Omit<LoadJob, "port">): Promise<Load>;
  usage(order: Order): Promise<Usage>;
  /**
   * Reads what was recorded since the last call, and deletes it.
   *
   * @throws Error if the archive lacks an exchange, or bytes of a body
   */
  verify(): Promise<void>;
}

export async function startServer(mode: Mode, setting: Setting): Promise<RecordedServer> {
  const { access, folder, identity, signal } = setting;
  const [archive, spool] = [join(folder, mode, "archive"), join(folder, mode, "spool")];
  const job: ServerJob = { mode, archive, access, spool, recipient: identity.recipient };
  let receive: (received: unknown) => void = () => {};
  const message = (): Promise<unknown> =>
    new Promise((resolve) => {
      receive = resolve;
    });
  const started = message();
  const child = Bun.spawn([process.execPath, ...RUNTIME_FLAGS, SERVER], {
    env: { ...process.env, IDK_BENCH_SERVER: JSON.stringify(job) },
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    ipc: (received) => receive(received),
  });
  const ended = child.exited.then((code): never => {
    throw new Error(`the measured server ended (${code})`);
  });
  // It ends after it is killed.
  ended.catch(() => {});
  const usage = async (order: Order): Promise<Usage> => {
    const answered = message();
    child.send(order);
    return (await Promise.race([answered, ended])) as Usage;
  };
  const port = (await Promise.race([started, ended])) as number;
  let sent = 0;
  /** Requests of each endpoint since the last look into the archive. */
  const unread = new Map<string, number>();

  return {
    usage,
    async load(job) {
      sent += job.count;
      unread.set(job.endpoint, (unread.get(job.endpoint) ?? 0) + job.count);
      return runJob<Load>(LOAD, { ...job, port }, { signal });
    },
    async verify() {
      const { stats } = await usage("flush");
      if (stats === undefined) return;
      if (stats.stored !== sent || stats.bodiesDropped > 0) {
        throw new Error(`${mode}: ${sent} requests, and recorded: ${JSON.stringify(stats)}`);
      }
      const backend = archiveOf(job);
      await verifyArchive(backend, identity, mode === "whole", unread);
      await deleteBlobs(backend);
      await backend.close?.();
      unread.clear();
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

const SENT = new Map(
  ENDPOINTS.map(({ answer, body = "", name, path }) => [path, { name, body, answer: answer() }]),
);

/** Each exchange is there, with the sizes of its bodies and the text that its limit allows. */
async function verifyArchive(
  backend: Backend,
  identity: Identity,
  whole: boolean,
  sent: ReadonlyMap<string, number>,
): Promise<void> {
  const found = new Map<string, number>();
  for await (const { request, response } of readExchanges(storeOf(identity, { backend }))) {
    const expected = SENT.get(request.url);
    if (expected === undefined) throw new Error(`a request of ${request.url} was recorded`);
    const { answer, body, name } = expected;
    if (!isRecorded(request.body, body, whole) || !isRecorded(response?.body, answer, whole)) {
      throw new Error(`${name}: bytes of a body are missing`);
    }
    found.set(name, (found.get(name) ?? 0) + 1);
  }
  for (const [name, count] of sent) {
    if (found.get(name) !== count)
      throw new Error(`${name}: ${count} sent, ${found.get(name)} read`);
  }
}

/** The recorder's default limit for bodies. */
export const BODY_BYTES: number = 2 ** 16;
/** How much of that may be replaced where it cuts. */
const CUT_BYTES = 100;

function isRecorded(recorded: RecordedRequest["body"], body: string, whole: boolean): boolean {
  if (body === "") return recorded === undefined;
  const { cut, size, text = "" } = recorded ?? {};
  const expected = recordedText(body);
  if (size !== body.length) return false;
  if (whole || body.length <= BODY_BYTES) return cut !== true && text === expected;
  const kept = text.slice(0, BODY_BYTES - CUT_BYTES);
  return cut === true && kept.length === BODY_BYTES - CUT_BYTES && expected.startsWith(kept);
}

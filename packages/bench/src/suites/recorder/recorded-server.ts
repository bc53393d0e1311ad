/** A measured server, and what is in its archive afterwards. */
import { join } from "node:path";
import { readExchanges } from "@idk/recorder/read";
import type { Identity } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { storeOf } from "../../harness/identity.ts";
import { RUNTIME_FLAGS } from "../../harness/processes.ts";
import { ENDPOINTS } from "./endpoints.ts";
import type { Mode, Order, ServerJob, Usage } from "./server.ts";

const SCRIPT = join(import.meta.dirname, "server.ts");

export interface RecordedServer extends AsyncDisposable {
  readonly mode: Mode;
  readonly port: number;
  /** CPU time since the start, once everything that was recorded is stored. */
  usage(): Promise<Usage>;
  /**
   * Closes the recorder.
   *
   * @param sent how many requests each endpoint has got
   * @throws Error if the archive lacks an exchange, or bytes of a body
   */
  verify(sent: ReadonlyMap<string, number>): Promise<void>;
}

export async function startServer(
  mode: Mode,
  folder: string,
  identity: Identity,
): Promise<RecordedServer> {
  const [archive, spool] = [join(folder, mode, "archive"), join(folder, mode, "spool")];
  const job: ServerJob = { mode, archive, spool, recipient: identity.recipient };
  let receive: (received: unknown) => void = () => {};
  const message = (): Promise<unknown> =>
    new Promise((resolve) => {
      receive = resolve;
    });
  const started = message();
  const child = Bun.spawn([process.execPath, ...RUNTIME_FLAGS, SCRIPT], {
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
  const ask = async (order: Order): Promise<Usage> => {
    const answered = message();
    child.send(order);
    return (await Promise.race([answered, ended])) as Usage;
  };
  const port = (await Promise.race([started, ended])) as number;

  return {
    mode,
    port,
    usage: () => ask("measure"),
    async verify(sent) {
      const { stats } = await ask("close");
      if (stats === undefined) return;
      const all = [...sent.values()].reduce((sum, count) => sum + count, 0);
      if (stats.stored !== all || stats.bodiesDropped > 0) {
        throw new Error(`${mode}: ${all} requests, and recorded: ${JSON.stringify(stats)}`);
      }
      await verifyArchive(archive, identity, mode === "whole", sent);
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}

/** Each exchange is there, with the sizes of its bodies and the text that its limit allows. */
async function verifyArchive(
  folder: string,
  identity: Identity,
  whole: boolean,
  sent: ReadonlyMap<string, number>,
): Promise<void> {
  const store = storeOf(identity, { backend: filesystem(folder) });
  const found = new Map<string, number>();
  for await (const { request, response } of readExchanges(store)) {
    const endpoint = ENDPOINTS.find(({ path }) => path === request.url);
    if (endpoint === undefined) throw new Error(`a request of ${request.url} was recorded`);
    const { answer, body = "", name } = endpoint;
    for (const [recorded, length] of [
      [request.body, body.length],
      [response?.body, answer().length],
    ] as const) {
      const isThere =
        length === 0
          ? recorded === undefined
          : recorded?.size === length && (recorded.cut !== true || !whole) && recorded.text !== "";
      if (!isThere || recorded?.why !== undefined) throw new Error(`${name}: a body is missing`);
    }
    found.set(name, (found.get(name) ?? 0) + 1);
  }
  for (const [name, count] of sent) {
    if (found.get(name) !== count)
      throw new Error(`${name}: ${count} sent, ${found.get(name)} read`);
  }
}

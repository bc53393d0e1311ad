/** The measured server: a process of its own, with a recorder or without one. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createRecorder, type RecorderStats, type RedactRule } from "@idk/recorder";
import type { Backend } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import { peakRss } from "../../harness/memory.ts";
import { openBackend } from "../../object-store/scratch.ts";
import type { ObjectStoreAccess } from "../../suite.ts";
import { ENDPOINTS } from "./endpoints.ts";

export interface ServerJob {
  readonly mode: Mode;
  /** A folder, unless the archive is in an object store. */
  readonly archive: string;
  readonly access?: ObjectStoreAccess | undefined;
  readonly spool: string;
  readonly recipient: string;
}

/**
 * `control` is `disabled` once more: what differs between them is noise. `store` is `active` with an
 * archive in an object store.
 */
export type Mode = "disabled" | "control" | "active" | "rules" | "whole" | "store";

/** What is asked of the server beside requests: its usage now, or once everything is sealed and uploaded. */
export type Order = "look" | "flush";

export interface Usage {
  /** Seconds of all threads, since the start. */
  readonly cpuSeconds: number;
  readonly rss: number;
  readonly heap: number;
  /** Of resident memory, since the start. */
  readonly peak: number;
  readonly stats: RecorderStats | undefined;
}

const RULES: readonly RedactRule[] = Array.from({ length: 20 }, (_, i): RedactRule => {
  if (i % 4 === 0) return { header: `x-header-${i}`, action: "hash" };
  if (i % 4 === 1) return { name: `field${i}`, action: "mask" };
  if (i % 4 === 2) return { path: `user.*.field${i}`, action: "drop" };
  return { path: `items.**.field${i}`, route: "/api/*", action: "replace", with: "-" };
});

const WHOLE_BYTES = 2 ** 21;

export function archiveOf({ access, archive }: Pick<ServerJob, "access" | "archive">): Backend {
  return access === undefined ? filesystem(archive, { durability: "none" }) : openBackend(access);
}

function recorderOf(job: ServerJob) {
  const { mode, recipient, spool } = job;
  if (mode === "disabled" || mode === "control") return undefined;
  return createRecorder({
    backend: archiveOf(job),
    recipients: [recipient],
    spool,
    redact: mode === "rules" ? RULES : [],
    limits: mode === "whole" ? { bodyBytes: WHOLE_BYTES } : {},
  });
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const endpoint = ENDPOINTS.find(({ path }) => path === request.url);
  let received = 0;
  for await (const chunk of request) received += (chunk as Buffer).length;
  if (endpoint === undefined || received !== (endpoint.body?.length ?? 0)) {
    response.writeHead(400).end();
    return;
  }
  response.setHeader("content-type", "application/json");
  response.end(endpoint.answer());
}

/** Serves until it is killed. The parent talks to it by messages. */
function serve(job: ServerJob): void {
  const recorder = recorderOf(job);
  const server = createServer((request, response) => void answer(request, response));
  recorder?.attach(server);
  const obey = async (order: Order): Promise<void> => {
    if (order === "flush") await recorder?.flush();
    const { user, system } = process.cpuUsage();
    const { heapUsed: heap, rss } = process.memoryUsage();
    const cpuSeconds = (user + system) / 1e6;
    const usage: Usage = { cpuSeconds, rss, heap, peak: peakRss(), stats: recorder?.stats() };
    process.send!(usage);
  };
  process.on("message", (order: Order) => void obey(order));
  server.listen(0, "127.0.0.1", () => process.send!((server.address() as AddressInfo).port));
}

const JOB = process.env["IDK_BENCH_SERVER"];
if (import.meta.main && JOB !== undefined) serve(JSON.parse(JOB) as ServerJob);

import {
  CLIENT_PATIENCE,
  createGateway,
  createMetrics,
  createObjects,
  measured,
  trustedProxies as parseProxies,
} from "@idk/gateway";
import { type Command, command } from "../../command.ts";
import {
  choice,
  field,
  flag,
  optional,
  path,
  recipients,
  repository,
  size,
  snapshot,
  text,
  texts,
} from "../../config/settings.ts";
import { Failure, messageOf, reasonOf, systemCodeOf, usage } from "../../errors/failures.ts";
import { type Access, loadAccess } from "../../gateway/access.ts";
import { accessLog } from "../../gateway/access-log.ts";
import { checkFiles } from "../../gateway/open-files.ts";
import { isLocal, LOOPBACK, parseListenAddress } from "../../gateway/listen-address.ts";
import {
  openGatewayBackend,
  openGatewayCatalog,
  STORED,
  warner,
  withLineage,
} from "../../gateway/open-gateway.ts";
import { loadMacKey, requireReader } from "../../gateway/mac-key-file.ts";
import { withCatalogVariable } from "../../gateway/variables.ts";
import { loadIdentities } from "../../keys/identities.ts";
import type { Session } from "../../session.ts";
import { readersOf } from "../../snapshots/opening/readers.ts";

const SHAPE = {
  ...STORED,
  repository,
  recipients,
  listen: optional(field(parseListenAddress)),
  credentials: optional(path),
  domain: optional(text),
  region: optional(text),
  tlsCert: optional(path),
  tlsKey: optional(path),
  insecure: flag,
  maxConnections: optional(field(parseConnections)),
  memory: optional(size),
  digestThreads: optional(field(parseThreads)),
  stallTimeout: optional(field(parseSeconds)),
  trustedProxy: texts,
  presignedV2: choice,
  writeOnly: flag,
  snapshot: optional(snapshot),
  accessLog: choice,
} as const;

export type ServeSettings = Parameters<Parameters<typeof command<typeof SHAPE>>[1]>[0];

const CONNECTIONS = 1024;
/** A client in the middle of a large upload begins again with its part. */
const STOP_MS = 30_000;

/** Serves the store, or a snapshot, as S3 until it is stopped. */
export const serveS3: Command = withCatalogVariable(
  command(SHAPE, async (settings, session) => {
    checkSettings(settings);
    // Until there are credentials to read again, there is nothing to do.
    session.onHangup(async () => {});
    if (settings.snapshot === undefined) await serveStore(settings, session);
    else await (await import("../../gateway/serve-snapshot.ts")).serveSnapshot(settings, session);
  }),
);

function checkSettings(settings: ServeSettings): void {
  const { listen, insecure, tlsCert, writeOnly } = settings;
  if (listen !== undefined && !isLocal(listen) && tlsCert === undefined && !insecure) {
    throw usage(
      "without TLS, others on the network could read and change what is sent: add --tls-cert and --tls-key, or --insecure if something else protects the connections",
    );
  }
  checkProxies(settings.trustedProxy);
  if (!writeOnly) return;
  if (settings.snapshot !== undefined)
    throw usage("--write-only and --snapshot exclude each other");
  if (settings.recipients.length === 0) {
    throw usage("--write-only needs the recipients who can read: name them with -r or -R");
  }
  if (settings.macKey === undefined) {
    throw usage(
      "--write-only needs --mac-key FILE: write it with `idk gateway mac-key` where the identity is",
    );
  }
}

function checkProxies(addresses: readonly string[]): void {
  try {
    parseProxies(addresses);
  } catch (error) {
    throw usage(`--trusted-proxy: ${messageOf(error)}`, error);
  }
}

async function serveStore(settings: ServeSettings, session: Session): Promise<void> {
  const identities = settings.writeOnly ? [] : await loadIdentities(settings, session);
  const to = await readersOf(settings.recipients, identities);
  const macKey = await loadMacKey(settings.macKey, session);
  if (macKey !== undefined) requireReader(macKey, to);
  const metrics = createMetrics();
  await using opened = await openGatewayBackend(settings.store, session);
  const backend = measured(opened, metrics);
  const access = await loadAccess(settings, session);
  const catalog = await openGatewayCatalog(settings, true);
  const warn = warner(session);
  try {
    const keys = { recipients: to, identities, macKey: macKey?.key };
    const { memory: memoryBytes } = settings;
    const objects = await withLineage(
      createObjects({ ...keys, backend, catalog, warn, memoryBytes }),
    );
    try {
      const checkStore = async (): Promise<void> => {
        await opened.head(NO_BLOB, { signal: AbortSignal.timeout(READY_MS) });
      };
      await serve(settings, { catalog, objects, metrics, checkStore }, access, session);
    } finally {
      await objects.close();
    }
  } finally {
    await catalog.close();
  }
}

/** The name of a blob that no store has: `/readyz` asks for it. */
export const NO_BLOB: string = "0".repeat(64);
export const READY_MS = 5000;

type Served = Pick<
  Parameters<typeof createGateway>[0],
  "catalog" | "objects" | "metrics" | "checkStore" | "isReadOnly" | "starting"
> & {
  /** Work besides serving. If it fails, serving ends. */
  readonly background?: Promise<void>;
};

/** Serves until a signal ends it. */
export async function serve(
  settings: ServeSettings,
  { background = Promise.resolve(), ...served }: Served,
  { credentials, tls, onCertificate }: Access,
  session: Session,
): Promise<void> {
  const { out, signal } = session;
  const { host, port } = settings.listen ?? { host: LOOPBACK, port: 9000 };
  const log = accessLog(session);
  const maxConnections = await checkFiles(settings.maxConnections ?? CONNECTIONS, session);
  const { digestThreads, stallTimeout, presignedV2, trustedProxy: trustedProxies } = settings;
  const patience =
    stallTimeout === undefined ? undefined : { ...CLIENT_PATIENCE, stallMs: 1000 * stallTimeout };
  const options = {
    ...served,
    credentials,
    listen: { host, port, tls, maxConnections, patience },
    digestThreads,
    presignedV2,
    trustedProxies,
    region: settings.region,
    domain: settings.domain,
    log: settings.accessLog === false ? undefined : log.write,
  };
  const gateway = await createGateway(options).catch((error: unknown) => {
    const code = systemCodeOf(error);
    if (code === "") throw error;
    const reason = code === "EADDRINUSE" ? "the port is in use" : reasonOf(error);
    throw new Failure("unavailable", `cannot listen on ${host}, port ${port}: ${reason}`, error);
  });
  onCertificate(gateway.setCertificate);
  session.keepRunning();
  await out.note(`idk: serving S3 at ${gateway.url}`);
  try {
    await new Promise<void>((resolve, reject) => {
      if (signal.aborted) resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
      background.catch(reject);
    });
  } finally {
    await out.note("idk: stopping: requests in progress may end");
    await gateway.close(STOP_MS);
    await log.close();
  }
}

function parseThreads(given: string): number {
  const value = /^\d{1,2}$/u.test(given) ? Number(given) : -1;
  if (value >= 0 && value <= 64) return value;
  throw new Error("must be a number from 0 to 64");
}

function parseSeconds(given: string): number {
  const value = /^\d{1,4}$/u.test(given) ? Number(given) : 0;
  if (value >= 1 && value <= 3600) return value;
  throw new Error("must be a number of seconds from 1 to 3600");
}

function parseConnections(given: string): number {
  const value = /^\d{1,6}$/u.test(given) ? Number(given) : 0;
  if (value >= 1) return value;
  throw new Error("must be a number from 1 to 999999");
}

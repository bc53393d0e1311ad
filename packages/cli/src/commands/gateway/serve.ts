import { createGateway, createMetrics, createObjects, type Gateway, measured } from "@idk/gateway";
import { join } from "node:path";
import { type Command, command } from "../../command.ts";
import {
  choice,
  field,
  flag,
  optional,
  path,
  recipients,
  repository,
  snapshot,
  text,
} from "../../config/settings.ts";
import { Failure, messageOf, reasonOf, systemCodeOf, usage } from "../../errors/failures.ts";
import { accessLog } from "../../gateway/access-log.ts";
import { ensureCredentials, readCredentials } from "../../gateway/credentials-file.ts";
import { isLocal, LOOPBACK, parseListenAddress } from "../../gateway/listen-address.ts";
import {
  catalogPlace,
  gatewayFolder,
  isPostgres,
  loadMacKey,
  openGatewayBackend,
  openGatewayCatalog,
  STORED,
  warner,
} from "../../gateway/open-gateway.ts";
import { withCatalogVariable } from "../../gateway/variables.ts";
import { readKeyFile, readSecretFile } from "../../keys/key-files.ts";
import { loadIdentities } from "../../keys/identities.ts";
import type { Session } from "../../session.ts";
import { readersOf } from "../../snapshots/readers.ts";

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
    if (settings.snapshot === undefined) await serveStore(settings, session);
    else await (await import("../../gateway/serve-snapshot.ts")).serveSnapshot(settings, session);
  }),
);

function checkSettings(settings: ServeSettings): void {
  const { listen, insecure, tlsCert, tlsKey, writeOnly } = settings;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw usage("--tls-cert and --tls-key belong together");
  }
  if (listen !== undefined && !isLocal(listen) && tlsCert === undefined && !insecure) {
    throw usage(
      "without TLS, others on the network could read and change what is sent: add --tls-cert and --tls-key, or --insecure if something else protects the connections",
    );
  }
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

async function serveStore(settings: ServeSettings, session: Session): Promise<void> {
  const identities = settings.writeOnly ? [] : await loadIdentities(settings, session);
  const to = await readersOf(settings.recipients, identities);
  const macKey = await loadMacKey(settings.macKey, session);
  const metrics = createMetrics();
  await using opened = await openGatewayBackend(settings.store, session);
  const backend = measured(opened, metrics);
  const catalog = await openGatewayCatalog(settings, true);
  const warn = warner(session);
  try {
    const objects = await createObjects({
      backend,
      catalog,
      recipients: to,
      identities,
      macKey,
      warn,
    });
    try {
      await serve(settings, session, {
        catalog,
        objects,
        metrics,
        checkStore: async () => {
          await opened.head(NO_BLOB, { signal: AbortSignal.timeout(READY_MS) });
        },
        isShared: isPostgres(catalogPlace(settings)),
      });
    } finally {
      await objects.close();
    }
  } finally {
    await catalog.close();
  }
}

/** The name of a blob that no store has: `/readyz` asks for it. */
const NO_BLOB = "0".repeat(64);
const READY_MS = 5000;

type Served = Pick<
  Parameters<typeof createGateway>[0],
  "catalog" | "objects" | "metrics" | "checkStore" | "isReadOnly"
>;

/** Serves until a signal ends it. */
export async function serve(
  settings: ServeSettings,
  session: Session,
  { isShared, ...served }: Served & { readonly isShared: boolean },
): Promise<void> {
  const { out, signal } = session;
  const file = settings.credentials ?? join(gatewayFolder(settings), "credentials.toml");
  if (settings.credentials === undefined && isShared) {
    throw usage(
      "gateways that share a catalog need the same access keys: name their file with --credentials",
    );
  }
  const made = settings.credentials === undefined ? await ensureCredentials(file) : undefined;
  let credentials = await readCredentials(file, session);
  const { host, port } = settings.listen ?? { host: LOOPBACK, port: 9000 };
  const tls = await loadTls(settings, session);
  const log = accessLog(session);
  let gateway: Gateway;
  try {
    gateway = await createGateway({
      ...served,
      credentials: () => credentials,
      listen: { host, port, tls, maxConnections: settings.maxConnections ?? CONNECTIONS },
      region: settings.region,
      domain: settings.domain,
      log: settings.accessLog === false ? undefined : log.write,
    });
  } catch (error) {
    if (systemCodeOf(error) === "") throw error;
    const reason = systemCodeOf(error) === "EADDRINUSE" ? "the port is in use" : reasonOf(error);
    throw new Failure("unavailable", `cannot listen on ${host}, port ${port}: ${reason}`, error);
  }
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  session.keepRunning(async () => {
    try {
      credentials = await readCredentials(file, session);
      await out.note(`idk: read the credentials again: ${credentials.keys.size} keys`);
    } catch (error) {
      await out.fault(`idk: the credentials stay as they were: ${messageOf(error)}`);
    }
  });
  await out.note(`idk: serving S3 at ${gateway.url}`);
  if (made === undefined) {
    await out.note(`idk: the access keys are those in ${file}`);
  } else {
    await out.note(`idk: made an access key, kept in ${file}`);
    await out.note(`AWS_ACCESS_KEY_ID=${made.accessKey}`);
    await out.note(`AWS_SECRET_ACCESS_KEY=${made.secret}`);
  }
  await stopped;
  await out.note("idk: stopping: requests in progress may end");
  await gateway.close(STOP_MS);
  await log.close();
}

async function loadTls(
  { tlsCert, tlsKey }: ServeSettings,
  session: Session,
): Promise<{ readonly cert: Uint8Array; readonly key: Uint8Array } | undefined> {
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  return {
    cert: await readKeyFile(tlsCert, "certificate"),
    key: await readSecretFile(tlsKey, "key of the certificate", session),
  };
}

function parseConnections(given: string): number {
  const value = /^\d{1,6}$/u.test(given) ? Number(given) : 0;
  if (value >= 1) return value;
  throw new Error("must be a number from 1 to 999999");
}

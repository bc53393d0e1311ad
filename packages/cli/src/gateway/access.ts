import type { Credentials, TlsFiles } from "@idk/gateway";
import { join } from "node:path";
import { messageOf, usage } from "../errors/failures.ts";
import { readKeyFile, readSecretFile } from "../keys/key-files.ts";
import type { Session } from "../session.ts";
import { ensureCredentials, readCredentials } from "./credentials-file.ts";
import { catalogPlace, type CatalogSettings, gatewayFolder, isPostgres } from "./open-gateway.ts";

/** Who may connect to a gateway, and how. */
export interface Access {
  /** Those that count now. */
  readonly credentials: () => Credentials;
  /** Reads the file again. If it is wrong, the credentials stay as they are. */
  reload(): Promise<void>;
  readonly tls: TlsFiles | undefined;
}

export interface AccessSettings extends CatalogSettings {
  readonly credentials: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
}

/** Reads certificate and credentials. Without a file of credentials, makes one and prints its key once. */
export async function loadAccess(settings: AccessSettings, session: Session): Promise<Access> {
  const { out } = session;
  const tls = await loadTls(settings, session);
  const file = settings.credentials ?? (await ownCredentials(settings, session));
  let credentials = await readCredentials(file, session);
  return {
    tls,
    credentials: () => credentials,
    async reload() {
      try {
        credentials = await readCredentials(file, session);
        await out.note(`idk: read the credentials again: ${credentials.keys.size} keys`);
      } catch (error) {
        await out.fault(`idk: the credentials stay as they were: ${messageOf(error)}`);
      }
    },
  };
}

async function ownCredentials(settings: AccessSettings, { out }: Session): Promise<string> {
  if (isPostgres(catalogPlace(settings))) {
    throw usage(
      "gateways that share a catalog need the same access keys: name their file with --credentials",
    );
  }
  const file = join(gatewayFolder(settings), "credentials.toml");
  const made = await ensureCredentials(file);
  if (made === undefined) {
    await out.note(`idk: the access keys are those in ${file}`);
    return file;
  }
  await out.note(`idk: made an access key, kept in ${file}`);
  await out.note(`AWS_ACCESS_KEY_ID=${made.accessKey}`);
  await out.note(`AWS_SECRET_ACCESS_KEY=${made.secret}`);
  return file;
}

async function loadTls(
  { tlsCert, tlsKey }: AccessSettings,
  session: Session,
): Promise<TlsFiles | undefined> {
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw usage("--tls-cert and --tls-key belong together");
  }
  if (tlsCert === undefined || tlsKey === undefined) return undefined;
  return {
    cert: await readKeyFile(tlsCert, "certificate"),
    key: await readSecretFile(tlsKey, "key of the certificate", session),
  };
}

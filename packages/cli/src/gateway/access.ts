import type { Credentials, TlsFiles } from "@idk/gateway";
import { join } from "node:path";
import { messageOf, usage } from "../errors/failures.ts";
import { readKeyFile, readSecretFile } from "../keys/key-files.ts";
import { count } from "../output/text.ts";
import type { Session } from "../session.ts";
import { ensureCredentials, readCredentials } from "./credentials-file.ts";
import { catalogPlace, type CatalogSettings, gatewayFolder, isPostgres } from "./open-gateway.ts";

/** Who may connect to a gateway, and how. */
export interface Access {
  /** Those that count now. */
  readonly credentials: () => Credentials;
  readonly tls: TlsFiles | undefined;
  /** Passes on each certificate that is read later. */
  onCertificate(use: (files: TlsFiles) => void): void;
}

export interface AccessSettings extends CatalogSettings {
  readonly credentials: string | undefined;
  readonly tlsCert: string | undefined;
  readonly tlsKey: string | undefined;
}

/**
 * Reads certificate and credentials, and again at SIGHUP: what is wrong then stays as it is. Without a
 * file of credentials, makes one.
 */
export async function loadAccess(settings: AccessSettings, session: Session): Promise<Access> {
  const { out } = session;
  const tls = await loadTls(settings, session);
  const file = settings.credentials ?? (await ownCredentials(settings, session));
  let credentials = await readCredentials(file, session);
  let useCertificate: ((files: TlsFiles) => void) | undefined;
  session.onHangup(async () => {
    try {
      credentials = await readCredentials(file, session);
      await out.note(`idk: read the credentials again: ${count(credentials.keys.size, "key")}`);
    } catch (error) {
      await out.fault(`idk: the credentials stay as they were: ${messageOf(error)}`);
    }
    if (useCertificate === undefined) return;
    try {
      const files = await loadTls(settings, session);
      if (files !== undefined) useCertificate(files);
      await out.note("idk: read the certificate again");
    } catch (error) {
      await out.fault(`idk: the certificate stays as it was: ${messageOf(error)}`);
    }
  });
  return {
    tls,
    credentials: () => credentials,
    onCertificate(use) {
      // Without TLS at the start, there is nothing to read again.
      if (tls !== undefined) useCertificate = use;
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
  // Elsewhere, a journal would keep it for ever.
  if (!process.stderr.isTTY) return file;
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

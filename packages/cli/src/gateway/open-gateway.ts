import {
  type Catalog,
  CatalogError,
  createObjects,
  LineageError,
  openCatalog,
  type Objects,
} from "@idk/gateway";
import type { Backend, Identity } from "@idk/storage";
import type { StoreLocation } from "@idk/storage/url";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  folders,
  identitySources,
  optional,
  passphrase,
  path,
  store,
  text,
} from "../config/settings.ts";
import { Failure, messageOf, usage } from "../errors/failures.ts";
import { createFolder, type UserFolders } from "../folders.ts";
import { type IdentitySettings, loadIdentities } from "../keys/identities.ts";
import type { Session } from "../session.ts";
import { type OpenBackend, openBackend } from "../stores/open-store.ts";
import { storeKey } from "../stores/store-key.ts";
import { loadMacKey } from "./mac-key-file.ts";

/** The settings of every command that opens a gateway's catalog. */
export const CATALOG = { store, folders, catalog: optional(text) } as const;

/** Those of every command that opens what a gateway stored, too. */
export const STORED = {
  ...CATALOG,
  identity: identitySources,
  passphrase,
  macKey: optional(path),
} as const;

export interface CatalogSettings {
  readonly store: StoreLocation;
  readonly folders: UserFolders;
  readonly catalog: string | undefined;
}

export interface StoredSettings extends CatalogSettings, IdentitySettings {
  readonly macKey: string | undefined;
}

/** Where a gateway keeps its own files by default: a folder for each store. */
export function gatewayFolder({ folders: { state }, store: location }: CatalogSettings): string {
  const digest = createHash("sha256")
    .update(JSON.stringify(storeKey(location)))
    .digest("hex");
  return join(state, "gateways", digest.slice(0, 16));
}

/** Whether a place of a catalog is a database server. */
export function isPostgres(place: string): boolean {
  return /^postgres(?:ql)?:/u.test(place);
}

/** The place of the catalog: a file, or the URL of a database. */
export function catalogPlace(settings: CatalogSettings): string {
  return settings.catalog ?? join(gatewayFolder(settings), "catalog.sqlite");
}

/**
 * Opens the catalog.
 *
 * @param mayCreate whether it may be a new file; a mistyped path must not pass for an empty catalog
 * @throws Failure `usage`, `not-found`, `unavailable`
 */
export async function openGatewayCatalog(
  settings: CatalogSettings,
  mayCreate: boolean,
): Promise<Catalog> {
  const place = catalogPlace(settings);
  if (!isPostgres(place)) {
    if (!mayCreate && !existsSync(place)) {
      throw new Failure(
        "not-found",
        `there is no catalog ${place}: name it with --catalog, or make it from the store with \`idk gateway rebuild\``,
      );
    }
    await createFolder(dirname(place));
  }
  try {
    return await openCatalog(place);
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    // The URL of a database has its password.
    const where = isPostgres(place) ? "the catalog" : `the catalog ${place}`;
    const code = error.code === "unavailable" ? "unavailable" : "usage";
    throw new Failure(code, `cannot open ${where}: ${messageOf(error)}`, error);
  }
}

/** The place of a gateway's blobs in a store: `s3/` below it. */
export async function openGatewayBackend(
  location: StoreLocation,
  session: Session,
): Promise<OpenBackend> {
  if (location.kind === "filesystem") {
    if (!existsSync(location.folder)) {
      throw new Failure(
        "unavailable",
        `the folder ${location.folder}, the store, does not exist: create it with \`idk store init\`, or check that its disk is mounted`,
      );
    }
    const folder = join(location.folder, BELOW);
    await createFolder(folder);
    return openBackend({ ...location, folder }, session);
  }
  const { prefix = "" } = location;
  const separator = prefix === "" || prefix.endsWith("/") ? "" : "/";
  return openBackend({ ...location, prefix: `${prefix}${separator}${BELOW}` }, session);
}

const BELOW = "s3";

/** Rejects with a failure if a call was refused because the catalog is not that of the store, or not new. */
export async function withLineage<T>(call: Promise<T>): Promise<T> {
  return call.catch((error: unknown) => {
    const cause = error instanceof Error ? (error.cause ?? error) : error;
    if (cause instanceof CatalogError && cause.code === "usage") throw usage(cause.message, error);
    if (!(cause instanceof LineageError)) throw error;
    throw new Failure("rollback", `cannot use the catalog: ${cause.message}`, error);
  });
}

/** A catalog with its objects, closed at the end of a block. */
export interface OpenStored extends AsyncDisposable {
  readonly catalog: Catalog;
  readonly objects: Objects;
  readonly backend: Backend;
  readonly identities: readonly Identity[];
}

/** Opens what a gateway stored, for a command. */
export async function openStored(settings: StoredSettings, session: Session): Promise<OpenStored> {
  if (settings.identity.length === 0 && settings.macKey === undefined) {
    throw usage("no identity: name its file with -i FILE or in IDK_IDENTITY");
  }
  const identities = settings.identity.length === 0 ? [] : await loadIdentities(settings, session);
  const macKey = await loadMacKey(settings.macKey, session);
  const catalog = await openGatewayCatalog(settings, false);
  const stack = new AsyncDisposableStack();
  stack.defer(async () => catalog.close());
  try {
    const backend = stack.use(await openGatewayBackend(settings.store, session));
    const recipients = identities.map(({ recipient }) => recipient);
    const objects = await createObjects({
      backend,
      catalog,
      recipients,
      identities,
      macKey: macKey?.key,
      background: false,
      warn: warner(session),
    });
    stack.defer(async () => objects.close());
    const disposable = stack.move();
    return {
      catalog,
      objects,
      backend,
      identities,
      [Symbol.asyncDispose]: async () => disposable.disposeAsync(),
    };
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

/** Prints what concerns the operator. */
export function warner({ out }: Session): (message: string, error?: unknown) => void {
  return (message, error) => {
    const reason = error === undefined ? "" : `: ${messageOf(error)}`;
    void out.fault(`idk: warning: ${message}${reason}`).catch(() => undefined);
  };
}

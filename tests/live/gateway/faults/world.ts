import { chmod, readFile } from "node:fs/promises";
import {
  type Catalog,
  createObjects,
  type Objects as GatewayObjects,
  openCatalog,
} from "@idk/gateway";
import { type Backend, createStore, readIdentityFile, type Store, withRetry } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";
import type { Bucket } from "../../../servers/s3-servers.ts";
import { openBackend } from "../../stores.ts";
import { type GatewayHome, gatewayHome, type RunningGateway } from "../running-gateway.ts";

/** A store and a catalog, which gateways of the command serve, and which the test can open itself. */
export interface World extends AsyncDisposable {
  readonly home: GatewayHome;
  /** Where the catalog is: a path, or a URL. */
  readonly catalog: string;
  /** Below `s3/`. */
  readonly backend: Backend;
  serve(...args: string[]): Promise<RunningGateway>;
  /** Runs `idk gateway …` over the store and the catalog, or another catalog. */
  idk(args: readonly string[], catalog?: string): ReturnType<GatewayHome["idk"]>;
  /** Opens what is stored, as if so many ms had passed. */
  open(laterMs?: number): Promise<OpenWorld>;
}

/** What the gateways stored. */
export interface OpenWorld extends AsyncDisposable {
  readonly catalog: Catalog;
  readonly objects: GatewayObjects;
  readonly store: Store;
}

export interface WorldOptions {
  /** A bucket for the store; by default it is a folder. */
  readonly bucket?: Bucket | undefined;
  /** By default `store` in the home. */
  readonly folder?: string | undefined;
  /** By default a file in the home. */
  readonly catalog?: string | undefined;
  /** Further variables for the commands. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export async function createWorld(options: WorldOptions = {}): Promise<World> {
  const { bucket, env = {} } = options;
  const home = await gatewayHome({
    ...(bucket === undefined ? {} : variablesOf(bucket)),
    ...(options.folder !== undefined && { IDK_STORE: options.folder }),
    ...env,
  });
  const folder = options.folder ?? home.path("store");
  const { catalog = home.path("catalog.sqlite") } = options;
  const credentials = home.path("credentials.toml");
  await Bun.write(credentials, '[keys.TESTER]\nsecret = "a secret of the tests alone"\n');
  await chmod(credentials, 0o600);
  const backend =
    bucket === undefined
      ? filesystem(`${folder}/s3`)
      : withRetry(
          openBackend.minio({
            endpoint: bucket.server.endpoint,
            bucket: bucket.name,
            prefix: "s3",
            keys: bucket.server,
          }),
        );
  return {
    home,
    catalog,
    backend,
    serve: async (...args) =>
      home.serve("--catalog", catalog, "--credentials", credentials, ...args),
    idk: async (args, other = catalog) => home.idk("gateway", ...args, "--catalog", other),
    async open(laterMs = 0) {
      const later: Backend = {
        ...backend,
        currentTime: async (given) => (await backend.currentTime!(given)) + laterMs,
      };
      const identities = await readIdentityFile(await readFile(home.path("me.key")));
      const recipients = identities.map(({ recipient }) => recipient);
      const opened = await openCatalog(catalog);
      const objects = await createObjects({
        backend: later,
        catalog: opened,
        recipients,
        identities,
        background: false,
        now: () => Date.now() + laterMs,
      });
      const store = createStore({ backend, identities });
      return {
        catalog: opened,
        objects,
        store,
        async [Symbol.asyncDispose]() {
          await objects.close();
          await store.close();
          await opened.close();
        },
      };
    },
    async [Symbol.asyncDispose]() {
      await home[Symbol.asyncDispose]();
      await backend.close?.();
    },
  };
}

function variablesOf({ server, name }: Bucket): Record<string, string> {
  const { host } = new URL(server.endpoint);
  return {
    IDK_STORE: `minio://${host}/${name}`,
    MINIO_ACCESS_KEY: server.accessKeyId,
    MINIO_SECRET_KEY: server.secretAccessKey,
  };
}

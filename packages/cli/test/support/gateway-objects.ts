import { afterAll } from "bun:test";
import { createHash } from "node:crypto";
import {
  type Catalog,
  createObjects,
  type ObjectPlace,
  type Objects,
  openCatalog,
} from "@idk/gateway";
import { type Backend, readIdentityFile } from "@idk/storage";
import { noise, type Workspace } from "./cli.ts";

/** What gateways have in a store, opened as by one of them, with the catalog `catalog.sqlite`. */
export interface GatewayObjects {
  readonly catalog: Catalog;
  /** One for each object, in the order of the catalog. */
  readonly places: readonly ObjectPlace[];
  readonly roots: readonly string[];
  /** Another gateway, over this backend. */
  open(over: Backend): Promise<Objects>;
}

/** Stores so many short objects, `b/key 00` and so on, and closes all after the tests of the file. */
export async function storeObjects(
  { path, read }: Workspace,
  backend: Backend,
  count: number,
): Promise<GatewayObjects> {
  const catalog = await openCatalog(path("catalog.sqlite"));
  afterAll(() => catalog.close());
  const identities = [await readIdentityFile(read("me.key"))].flat();
  const recipients = identities.map(({ recipient }) => recipient);
  const open = async (over: Backend): Promise<Objects> => {
    const objects = await createObjects({
      backend: over,
      catalog,
      recipients,
      identities,
      background: false,
    });
    afterAll(() => objects.close());
    return objects;
  };
  const { createBucket, putObject } = await open(backend);
  const { bucket } = await createBucket({ name: "b", owner: "", region: "", time: 0 });
  const [places, roots]: [ObjectPlace[], string[]] = [[], []];
  for (let at = 0; at < count; at++) {
    const key = Buffer.from(`key ${String(at).padStart(2, "0")}`);
    const content = noise(100, at + 1);
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield content;
    }
    const md5 = createHash("md5").update(content).digest("hex");
    const body = { bytes: bytes(), digests: () => ({ md5, checksums: {} }) };
    const { root } = await putObject({ bucket, key, headers: {}, body });
    places.push({ bucket: bucket.id, key });
    roots.push(root);
  }
  return { catalog, places, roots, open };
}

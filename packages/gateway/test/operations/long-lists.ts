import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateIdentity } from "@idk/storage";
import { memory } from "@idk/storage/memory";
import { openCatalog } from "../../src/catalog/open-catalog.ts";
import { parseCredentials } from "../../src/credentials/credentials.ts";
import { createGateway } from "../../src/gateway.ts";
import { createObjects } from "../../src/objects/create-objects.ts";
import { bytes, fill } from "../catalog/behaviour/fixture.ts";

/*
 * A process with a gateway and a bucket `long`, a page of which is five megabytes of XML. Sends its URL, and
 * then its memory, to its parent, until that closes standard input.
 */

const folder = await mkdtemp(join(tmpdir(), "idk-gateway-lists-"));
const catalog = await openCatalog(join(folder, "catalog.sqlite"));
const identity = await generateIdentity();
const objects = await createObjects({
  catalog,
  recipients: [identity.recipient],
  identities: [identity],
  backend: memory(),
  background: false,
});
const { bucket } = await objects.createBucket({ name: "long", owner: "", region: "", time: 0 });
await fill(
  catalog,
  bucket,
  Array.from({ length: 1000 }, (_, index) => bytes(`${index}`.padStart(4, "0") + "&".repeat(1020))),
);
const credentials = parseCredentials(process.env["CREDENTIALS"] ?? "");
const gateway = await createGateway({
  catalog,
  objects,
  credentials: () => credentials,
  listen: { host: "127.0.0.1", port: 0, maxConnections: 1024 },
  checkStore: async () => {},
});
const mib = (): number => Math.round(process.memoryUsage.rss() / 2 ** 20);
process.send!({ url: gateway.url, mib: mib() });
setInterval(() => process.send!({ mib: mib() }), 20);

// Only its end is waited for.
await Bun.stdin.text();
await gateway.close(0);
await objects.close();
await catalog.close();
await rm(folder, { recursive: true, force: true });
process.exit(0);

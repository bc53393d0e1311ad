/**
 * A file service on Bun that stores uploads encrypted in a folder, so that a stolen disk reveals
 * nothing. It reads as well as writes, so it loads an identity from a file.
 *
 *   idk keygen -o me.key
 *   bun bun-server.ts ./blobs me.key 3000
 *   curl -T report.pdf http://127.0.0.1:3000/             # prints the address
 *   curl -r 0-99 http://127.0.0.1:3000/ADDRESS            # bytes 0 to 99, verified
 */
import { createStore, readIdentityFile } from "@idk/storage";
import { fileService } from "./file-service.ts";
import { filesystem } from "@idk/storage/filesystem";

const [folder = "./blobs", keyFile = "me.key", port = "3000"] = process.argv.slice(2);
const identities = await readIdentityFile(await Bun.file(keyFile).bytes());
await using store = createStore({
  backend: filesystem(folder),
  recipients: identities.map(({ recipient }) => recipient),
  identities,
});
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  // Bun's default is 128 MiB.
  maxRequestBodySize: Number.MAX_SAFE_INTEGER,
  fetch: fileService(store),
});
console.log(`listening on ${server.url}`);

const { promise: terminated, resolve: terminate } = Promise.withResolvers<void>();
process.once("SIGINT", terminate).once("SIGTERM", terminate);
await terminated;
await server.stop();

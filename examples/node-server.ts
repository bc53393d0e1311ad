/**
 * The file service on Node, as part of a Hono application.
 *
 *   node --import tsx node-server.ts ./blobs me.key 3000      # Node 22.18 and later: without tsx
 */
import { createStore, readIdentityFile } from "@idk/storage";
import { Hono } from "hono";
import { fileService } from "./file-service.ts";
import { filesystem } from "@idk/storage/filesystem";
import { readFile } from "node:fs/promises";
import { serve } from "@hono/node-server";

const [folder = "./blobs", keyFile = "me.key", port = "3000"] = process.argv.slice(2);
const identities = await readIdentityFile(await readFile(keyFile));
const store = createStore({
  backend: filesystem(folder),
  recipients: identities.map(({ recipient }) => recipient),
  identities,
});

const app = new Hono();
const files = fileService(store);
app.get("/health", (context) => context.text("ok\n"));
app.all("*", (context) => files(context.req.raw));

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(port) }, (address) => {
  console.log(`listening on http://127.0.0.1:${address.port}/`);
});

const stop = (): void => {
  server.close(() => void store.close());
};
process.once("SIGINT", stop).once("SIGTERM", stop);

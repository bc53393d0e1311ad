/**
 * A recorded Hono application on Node. On Bun, pass `recorder.handler(app.fetch)` to `Bun.serve`.
 *
 *   node --import tsx recorder/hono.ts ./archive ./spool RECIPIENT 3000
 */
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import type { AddressInfo } from "node:net";
import type { Server } from "node:http";
import { closeOnSignals, openRecorder } from "./recorder.ts";

const { port, recorder } = openRecorder(process.argv.slice(2));
const app = new Hono();
app.post("/login", async (context) => {
  const { email } = await context.req.json<{ email: string }>();
  return context.json({ email, token: "a token" }, 401);
});

const server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port }) as Server;
recorder.attach(server);
closeOnSignals(recorder, () => new Promise((resolve) => server.close(resolve)));
server.on("listening", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});

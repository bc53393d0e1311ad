/**
 * A recorded Express application. Its routes are recorded, too.
 *
 *   node --import tsx recorder/express.ts ./archive ./spool RECIPIENT 3000
 */
import express from "express";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { closeOnSignals, openRecorder } from "./recorder.ts";

const { port, recorder } = openRecorder(process.argv.slice(2));
const app = express();
app.use(express.json());
app.post("/login", (request, response) => {
  const { email } = request.body as { email: string };
  response.status(401).json({ email, token: "a token" });
});
app.get("/users/:id", (_, response) => {
  response.status(403).send("no");
});

const server = createServer(app);
recorder.attach(server);
closeOnSignals(recorder, () => new Promise((resolve) => server.close(resolve)));
server.listen(port, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});

/*
 * A process that records into a spool and a folder until it is ended.
 *
 * recording-process.ts SPOOL STORE RECIPIENT
 *
 * It serves on a port, which it prints, and answers itself without pause. Every line after that is the
 * number of exchanges that are over. On SIGTERM it closes the recorder and prints its counts as JSON.
 */
import { filesystem } from "@idk/storage/filesystem";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createRecorder } from "../../src/index.ts";

const [, , spool, store, recipient] = process.argv;
const recorder = createRecorder({
  backend: filesystem(store!, { durability: "none" }),
  recipients: [recipient!],
  spool: spool!,
  keep: ({ url }) => !url.endsWith("7"),
  limits: { segmentMs: 40, segmentBytes: 65_536, orphanMs: 1500 },
  onError: (error) => console.error(error),
});

const server = createServer((_, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ text: "x".repeat(200) }));
});
recorder.attach(server);
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));

const answer = recorder.handler(
  () => new Response("[1]", { headers: { "content-type": "application/json" } }),
);
let over = 0;
let ended = false;
const stop = async (): Promise<void> => {
  ended = true;
  await recorder.close();
  console.log(JSON.stringify(recorder.stats()));
  process.exit(0);
};
process.on("SIGTERM", () => void stop());

while (!ended) {
  for (let i = 0; i < 20 && !ended; i++) {
    await answer(new Request(`http://a/${over}`)).text();
    over += 1;
  }
  console.log(over);
  await new Promise((resolve) => setTimeout(resolve, 5));
}

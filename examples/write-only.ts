/**
 * A producer that can only write: it holds public keys, so that whoever breaks into it reads nothing
 * that it has stored. Here it keeps a log: what comes in on standard input is sealed every so many
 * seconds, or when a mebibyte has come together, and the addresses go to standard output.
 *
 *   tail -F app.log | bun write-only.ts ./blobs idk1… > addresses
 *
 * With a bucket, give it credentials that allow PutObject and nothing else (docs/backends.md).
 */
import { createStore, parseRecipient } from "@idk/storage";
import { filesystem } from "@idk/storage/filesystem";

const PORTION_MAX = 1024 * 1024;
const SECONDS_MAX = 10;

const [folder = "./blobs", ...recipients] = process.argv.slice(2);
await using store = createStore({
  backend: filesystem(folder),
  recipients: recipients.map(parseRecipient),
});

let portion: Uint8Array[] = [];
let size = 0;
/** One after the other, so that addresses come in the order of the log. */
let stored = Promise.resolve();

function seal(): void {
  if (size === 0) return;
  const content = Buffer.concat(portion);
  const metadata = { type: "text/plain", mtime: Date.now() };
  portion = [];
  size = 0;
  // A put that fails ends the program, with an error and without an address: what it held is in the
  // log still.
  stored = stored.then(async () => console.log(await store.put(content, { metadata })));
}

const timer = setInterval(seal, SECONDS_MAX * 1000);
for await (const piece of Bun.stdin.stream()) {
  portion.push(piece);
  size += piece.length;
  if (size < PORTION_MAX) continue;
  seal();
  // A store that is slower than the log holds it back, and memory stays bounded.
  await stored;
}
clearInterval(timer);
seal();
await stored;

/**
 * A producer that can only write: it holds public keys only, so an attacker who breaks into it
 * cannot read what it has stored. This one archives a log: it encrypts standard input in portions,
 * every 10 seconds or when a portion reaches 1 MiB, and prints their addresses.
 *
 *   tail -F app.log | bun write-only.ts ./blobs idk1… > addresses
 *
 * For a bucket, give it credentials that allow only PutObject (docs/backends.md).
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
/** Puts run one after the other, so that addresses are printed in the order of the log. */
let stored = Promise.resolve();

function seal(): void {
  if (size === 0) return;
  const content = Buffer.concat(portion);
  const metadata = { type: "text/plain", mtime: Date.now() };
  portion = [];
  size = 0;
  // A failed put ends the program with an error. Its portion has no address and is still in the log.
  stored = stored.then(async () => console.log(await store.put(content, { metadata })));
}

const timer = setInterval(seal, SECONDS_MAX * 1000);
for await (const piece of Bun.stdin.stream()) {
  portion.push(piece);
  size += piece.length;
  if (size < PORTION_MAX) continue;
  seal();
  // If the store is slower than the log, stop reading: memory stays bounded.
  await stored;
}
clearInterval(timer);
seal();
await stored;

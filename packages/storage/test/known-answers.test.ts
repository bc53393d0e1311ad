import {
  type Identity,
  createStore,
  parseIdentity,
  publicKeyOf,
  readIdentityFile,
  secretKeyOf,
} from "../src/index.ts";
import { describe, expect, test } from "bun:test";
import { nacl, sha256, testdata } from "./support.ts";
import { formatIdentity } from "../src/index.ts";
import { fromHex, toHex } from "../src/bytes.ts";
import { join } from "node:path";
import { memory } from "../src/backend/memory.ts";
import { readFileSync } from "node:fs";
import { z } from "zod";

const Answers = z.object({
  dedupSecret: z.string(),
  identities: z.array(
    z.object({
      secretKey: z.string(),
      identity: z.string(),
      recipient: z.string(),
      publicKey: z.string(),
    }),
  ),
  keyfile: z.object({ passphrase: z.string(), secretKey: z.string(), hex: z.string() }),
  cases: z.array(
    z.object({
      name: z.string(),
      content: z.string(),
      size: z.number(),
      contentSha256: z.string(),
      recipients: z.array(z.number()),
      metadata: z.record(z.string(), z.string()),
      chunkSizeLog2: z.number(),
      padding: z.enum(["padme", "none"]),
      address: z.string(),
      rootBytes: z.number(),
      blobs: z.number(),
      p: z.number(),
      depth: z.number(),
    }),
  ),
});
const answers = Answers.parse(
  JSON.parse(readFileSync(join(testdata, "known-answers.json"), "utf8")),
);

const identities: Identity[] = answers.identities.map(({ identity }) => parseIdentity(identity));

/** The contents are given as sentences. */
function contentOf({ content, size }: { content: string; size: number }): Uint8Array {
  const quoted = /'(.*)'/u.exec(content)?.[1];
  if (quoted !== undefined) return new TextEncoder().encode(quoted);
  return Uint8Array.from({ length: size }, (_, i) => (7 * i + (i >> 8)) & 255);
}

describe("known answers", () => {
  test.each(answers.cases)("$name is written byte for byte", async (known) => {
    const content = contentOf(known);
    expect(sha256(content)).toBe(known.contentSha256);
    const backend = memory();
    const store = createStore({
      backend,
      identities,
      recipients: known.recipients.map((i) => identities[i]!.recipient),
      dedupSecret: fromHex(answers.dedupSecret),
      chunkSize: 2 ** known.chunkSizeLog2,
      padding: known.padding,
      nacl,
    });

    const address: string = await store.put(content, { metadata: known.metadata });
    expect(address).toBe(known.address);

    expect((await backend.head(address))?.size).toBe(known.rootBytes);
    expect((await Array.fromAsync(store.list())).length).toBe(known.blobs);
    const stat = await store.stat(address);
    expect(stat).toMatchObject({ padding: known.p, depth: known.depth, size: known.size });
    const bytes = await (await store.get(address)).bytes();
    expect(sha256(bytes)).toBe(known.contentSha256);
  });

  test.each(answers.identities)("$recipient in all its forms", (known) => {
    const identity = parseIdentity(known.identity);
    const recipient: string = identity.recipient;
    expect(recipient).toBe(known.recipient);
    expect(toHex(secretKeyOf(identity))).toBe(known.secretKey);
    expect(toHex(publicKeyOf(known.recipient))).toBe(known.publicKey);
    expect(formatIdentity(identity)).toBe(known.identity);
  });

  test("the protected identity file", async () => {
    const { hex, passphrase, secretKey } = answers.keyfile;
    const read = await readIdentityFile(fromHex(hex), passphrase);
    expect(read.map((identity) => toHex(secretKeyOf(identity)))).toEqual([secretKey]);
  });
});

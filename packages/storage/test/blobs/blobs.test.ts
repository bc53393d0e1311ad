import {
  CHILD_OVERHEAD,
  fetchBlob,
  hash,
  isProtectedFile,
  kdf,
  mac,
  openChild,
  openProtectedKey,
  openRoot,
  padme,
  type ProtectedFileKind,
  protectKey,
  ROOT_BLOB_MAX,
  sealChild,
  sealRoot,
} from "../../src/blobs/index.ts";
import { addressOf, createStore, loadNaCl, parseIdentity } from "../../src/index.ts";
import { alice, bob, nacl, testdata } from "../support.ts";
import { describe, expect, test } from "bun:test";
import { fails, rejects } from "../format/fails.ts";
import { fromHex, toHex, utf8 } from "../../src/bytes.ts";
import { join } from "node:path";
import { memory } from "../../src/backend/memory.ts";
import { readFileSync } from "node:fs";
import { z } from "zod";

const Pack = z.object({
  S: z.string(),
  sort: z.enum(["data", "meta"]),
  salt: z.string(),
  random: z.string(),
  plaintext: z.string(),
  plaintextLength: z.number(),
  contentKey: z.string(),
  address: z.string(),
});
const Root = z.object({
  content: z.string(),
  K: z.string(),
  esk: z.string(),
  address: z.string(),
});
const answers = z
  .object({
    identity: z.object({ secretKey: z.string(), identity: z.string(), recipient: z.string() }),
    owner: z.object({ seed: z.string() }),
    writerFile: z.object({
      seed: z.string(),
      passphrase: z.string(),
      logN: z.number(),
      hex: z.string(),
    }),
    dataPack: Pack,
    metadataPack: Pack,
    snapshot: z.array(Root),
    reach: z.array(Root),
    head: z.array(Root),
    repository: z.object({ blobs: z.record(z.string(), z.string()) }),
  })
  .parse(JSON.parse(readFileSync(join(testdata, "snapshots/known-answers.json"), "utf8")));

const naCl = await loadNaCl(nacl);
const identity = parseIdentity(answers.identity.identity);
const storedBlob = (address: string): Uint8Array =>
  new Uint8Array(Buffer.from(answers.repository.blobs[address]!, "base64"));

describe("known answers", () => {
  test.each([answers.dataPack, answers.metadataPack])("a pack $sort, sealed and opened", (pack) => {
    const filled = new Uint8Array(pack.plaintextLength);
    filled.set(fromHex(pack.plaintext));
    const S = fromHex(pack.S);
    const salt = mac(S, utf8("idk/v1/snap/salt"), fromHex(pack.random), hash(filled));
    expect(toHex(salt.subarray(0, 16))).toBe(pack.salt);
    const contentKey = mac(S, utf8(`idk/v1/snap/${pack.sort}`), salt.subarray(0, 16));
    expect(toHex(contentKey)).toBe(pack.contentKey);

    const blob = new Uint8Array(CHILD_OVERHEAD + filled.length);
    const sealed = sealChild(naCl, { kind: "leaf", contentKey, plaintext: filled, blob });
    expect<string>(sealed).toBe(pack.address);
    expect(toHex(blob)).toBe(toHex(storedBlob(pack.address)));
    const into = new Uint8Array(filled.length);
    const opened = openChild(naCl, { kind: "leaf", contentKey, blob, into });
    expect(opened).toBe(into);
    expect(toHex(into)).toBe(toHex(filled));
  });

  test.each([
    ...answers.snapshot.map((root) => ({ ...root, type: "application/vnd.idk.snapshot" })),
    ...answers.reach.map((root) => ({ ...root, type: "application/vnd.idk.reach" })),
    ...answers.head.map((root) => ({ ...root, type: "application/vnd.idk.head" })),
  ])("a root of type $type, $address, sealed and opened", ({ type, K, esk, ...root }) => {
    const content = fromHex(root.content);
    const { address, blob } = sealRoot(naCl, {
      content,
      metadata: { type },
      recipients: [answers.identity.recipient],
      keys: { contentKey: fromHex(K), ephemeralSecret: fromHex(esk) },
    });
    expect<string>(address).toBe(root.address);
    expect(toHex(blob)).toBe(toHex(storedBlob(address)));
    const opened = openRoot(naCl, blob, [identity]);
    expect({ ...opened, metadata: { ...opened.metadata } }).toEqual({
      content,
      contentLength: content.length,
      metadata: { type },
      recipients: 1,
    });
  });

  test("the owner's seed, derived from the identity", () => {
    const seed = kdf(fromHex(answers.identity.secretKey), new Uint8Array(0), "idk/v1/owner");
    expect(toHex(seed)).toBe(answers.owner.seed);
  });

  const WRITER_FILE: ProtectedFileKind = {
    magic: "IDKW",
    context: "writerfile",
    label: "IDK PROTECTED WRITER KEY",
    name: "writer key file",
  };

  test("a protected file of another kind of key", async () => {
    const { hex, passphrase, seed, logN } = answers.writerFile;
    const file = fromHex(hex);
    expect(toHex(await openProtectedKey(WRITER_FILE, file, passphrase))).toBe(seed);
    await rejects(openProtectedKey(WRITER_FILE, file, "wrong"), "passphrase", "writer key file");

    const own = await protectKey(WRITER_FILE, fromHex(seed), passphrase, { logN });
    expect(own.subarray(0, 6)).toEqual(file.subarray(0, 6));
    expect(toHex(await openProtectedKey(WRITER_FILE, own, passphrase))).toBe(seed);
    for (const other of ["IDKK", "IDKX"]) {
      const kind = { ...WRITER_FILE, magic: other };
      expect(isProtectedFile(kind, own)).toBe(false);
      await rejects(openProtectedKey(kind, own, passphrase), "key");
      const renamed = Uint8Array.from([...utf8(other), ...own.subarray(4)]);
      await rejects(openProtectedKey(kind, renamed, passphrase), "key", "damaged");
    }
    const other = { ...WRITER_FILE, context: "keyfile" };
    await rejects(openProtectedKey(other, own, passphrase), "passphrase");
  });
});

describe("children", () => {
  const contentKey = new Uint8Array(32).fill(7);
  const plaintext = utf8("one plaintext for one key");
  const sealed = () => {
    const blob = new Uint8Array(CHILD_OVERHEAD + plaintext.length);
    blob.set(plaintext, CHILD_OVERHEAD);
    const inPlace = blob.subarray(CHILD_OVERHEAD);
    return {
      address: sealChild(naCl, { kind: "leaf", contentKey, plaintext: inPlace, blob }),
      blob,
    };
  };

  test("are sealed and opened in place", () => {
    const { address, blob } = sealed();
    expect(address).toBe(addressOf(blob));
    const opened = openChild(naCl, { kind: "leaf", contentKey, blob });
    expect(opened.buffer).toBe(blob.buffer);
    expect(opened).toEqual(plaintext);
  });

  test("of another key, kind or with other bytes do not open", () => {
    const other = new Uint8Array(32).fill(8);
    fails(() => openChild(naCl, { kind: "leaf", contentKey: other, ...sealed() }), "commit");
    fails(() => openChild(naCl, { kind: "node", contentKey, ...sealed() }), "auth");
    const { blob } = sealed();
    blob[blob.length - 1]! ^= 1;
    fails(() => openChild(naCl, { kind: "leaf", contentKey, blob }), "auth");
    fails(
      () => openChild(naCl, { kind: "leaf", contentKey, blob: blob.subarray(0, 20) }),
      "format",
    );
    const { blob: root } = sealRoot(naCl, { content: plaintext, recipients: [alice.recipient] });
    fails(() => openChild(naCl, { kind: "leaf", contentKey, blob: root }), "format");
  });

  test("of wrong arguments are usage errors", () => {
    const blob = new Uint8Array(CHILD_OVERHEAD + plaintext.length);
    const right = { kind: "leaf", contentKey, plaintext, blob } as const;
    for (const wrong of [
      { ...right, kind: "root" as "leaf" },
      { ...right, contentKey: contentKey.subarray(1) },
      { ...right, blob: new Uint8Array(blob.length + 1) },
      { ...right, blob: blob.subarray(1) },
      { ...right, plaintext: new Uint8Array(2 ** 24 + 1) },
      { ...right, plaintext: "text" as unknown as Uint8Array },
    ]) {
      fails(() => sealChild(naCl, wrong), "usage");
    }
    fails(() => openChild(naCl, { ...right, kind: "root" as "leaf" }), "usage");
    fails(() => openChild(naCl, { ...right, contentKey: new Uint8Array(31) }), "usage");
  });
});

describe("roots", () => {
  const content = utf8("content");

  test("are blobs that a store reads, and the other way round", async () => {
    const backend = memory();
    const recipients = [bob.recipient, alice.recipient];
    const store = createStore({ backend, recipients, identities: [alice], nacl });
    const { address, blob } = sealRoot(naCl, { content, metadata: { type: "x/y" }, recipients });
    await backend.put(address, blob);
    const found = await store.get(address);
    expect(found.metadata.type).toBe("x/y");
    expect(await found.bytes()).toEqual(Uint8Array.from(content));

    const put = await store.put(content, { metadata: { type: "x/y" } });
    const fetched = await fetchBlob(backend, put, new Uint8Array(ROOT_BLOB_MAX));
    expect(fetched.length).toBe(blob.length);
    expect(openRoot(naCl, fetched, [bob]).content).toEqual(content);
  });

  test("have new keys each time, unless they are given", () => {
    const recipients = [alice.recipient];
    const [a, b] = [
      sealRoot(naCl, { content, recipients }),
      sealRoot(naCl, { content, recipients }),
    ];
    expect(a.address).not.toBe(b.address);
    expect(a.blob.length).toBe(b.blob.length);
  });

  test("of a tree have no content here", async () => {
    const backend = memory();
    const store = createStore({ backend, recipients: [alice.recipient], nacl });
    const address = await store.put(new Uint8Array(2 ** 20 + 1));
    const blob = await fetchBlob(backend, address, new Uint8Array(ROOT_BLOB_MAX));
    const opened = openRoot(naCl, blob, [alice]);
    expect([opened.content, opened.contentLength]).toEqual([undefined, 2 ** 20 + 1]);
  });

  test("are padded, and take a mebibyte", () => {
    const most = new Uint8Array(2 ** 20);
    const { blob } = sealRoot(naCl, { content: most, recipients: [alice.recipient] });
    expect(padme(blob.length - 147)).toBe(blob.length - 147);
    expect(openRoot(naCl, blob, [alice]).contentLength).toBe(2 ** 20);
    const longer = new Uint8Array(2 ** 20 + 1);
    fails(() => sealRoot(naCl, { content: longer, recipients: [alice.recipient] }), "usage");
  });

  test("of wrong arguments, or for others, are errors", () => {
    const recipients = [alice.recipient];
    const { blob } = sealRoot(naCl, { content, recipients });
    fails(() => openRoot(naCl, blob, [bob]), "no-match");
    fails(() => openRoot(naCl, blob, [alice.recipient as never]), "usage");
    fails(() => sealRoot(naCl, { content, recipients: [] }), "usage", "recipient");
    fails(() => sealRoot(naCl, { content, recipients: ["idk1"] }), "key");
    fails(() => sealRoot(naCl, { content: "x" as never, recipients }), "usage");
    const keys = { contentKey: new Uint8Array(32), ephemeralSecret: new Uint8Array(31) };
    fails(() => sealRoot(naCl, { content, recipients, keys }), "usage", "ephemeralSecret");
  });
});

describe("a blob that is fetched", () => {
  test("has its address and fits into the buffer", async () => {
    const backend = memory();
    const { address, blob } = sealRoot(naCl, {
      content: utf8("x"),
      recipients: [alice.recipient],
    });
    await backend.put(address, blob);
    const exact = new Uint8Array(blob.length);
    expect(await fetchBlob(backend, address, exact)).toEqual(exact);
    await rejects(fetchBlob(backend, address, new Uint8Array(blob.length - 1)), "limit");
    await rejects(fetchBlob(backend, "0".repeat(64), exact), "not-found");
    await rejects(fetchBlob(backend, address.toUpperCase(), exact), "usage");
    const signal = AbortSignal.abort();
    await rejects(fetchBlob(backend, address, exact, { signal }), "aborted");
    await backend.put(address, blob.fill(0, 3));
    await rejects(fetchBlob(backend, address, exact), "address");
  });
});

import { type Backend, loadNaCl, publicKeyOf } from "../../src/index.ts";
import { CHILD_OVERHEAD, encodeRoot, FANOUT, REFERENCE_LENGTH } from "../../src/format/index.ts";
import { createHash, randomBytes } from "node:crypto";
import { sealChild, sealRoot } from "../../src/crypto/seal.ts";
import { writeReference } from "../../src/format/tree.ts";

const CHUNK_LOG2 = 18;

/** The address of any blob, and the key that the tree has for it. */
export interface ForgedReference {
  readonly address: string;
  readonly contentKey: Uint8Array;
}

/** A reference to a blob whose key its author does not have. */
export function unopenable(address: string): ForgedReference {
  return { address, contentKey: randomBytes(32) };
}

/**
 * What anyone can write who knows a recipient: a root over a tree with any references.
 *
 * @returns its address
 */
export async function forgeTree(
  backend: Backend,
  recipient: string,
  leaves: readonly ForgedReference[],
): Promise<string> {
  const naCl = await loadNaCl();
  const store = async (blob: Uint8Array): Promise<string> => {
    const address = createHash("sha256").update(blob).digest("hex");
    await backend.put(address, blob);
    return address;
  };
  let [level, depth] = [leaves, 1];
  for (; level.length > FANOUT; depth++) {
    const nodes: ForgedReference[] = [];
    for (let start = 0; start < level.length; start += FANOUT) {
      const plaintext = listOf(level.slice(start, start + FANOUT));
      const blob = new Uint8Array(CHILD_OVERHEAD + plaintext.length);
      const contentKey = randomBytes(32);
      sealChild(naCl, "node", contentKey, plaintext, blob);
      nodes.push({ address: await store(blob), contentKey });
    }
    level = nodes;
  }
  const fields = {
    depth,
    chunkLog2: CHUNK_LOG2,
    contentLength: leaves.length * 2 ** CHUNK_LOG2,
    padding: 0,
    metadata: new Map(),
    body: listOf(level),
  };
  const keys = { contentKey: randomBytes(32), ephemeralSecret: randomBytes(32) };
  const encoded = encodeRoot(fields, false);
  const plaintext = new Uint8Array(encoded.length);
  encoded.write(plaintext);
  return store(sealRoot(naCl, keys, [publicKeyOf(recipient)], plaintext));
}

function listOf(references: readonly ForgedReference[]): Uint8Array {
  const bytes = new Uint8Array(references.length * REFERENCE_LENGTH);
  for (const [index, reference] of references.entries()) writeReference(bytes, index, reference);
  return bytes;
}

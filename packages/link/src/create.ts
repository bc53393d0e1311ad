import {
  type Address,
  type Backend,
  createStore,
  type Identity,
  loadNaCl,
  parseAddress,
  StorageError,
  wrapBackend,
} from "@idk/storage";
import { openRoot, randomKey } from "@idk/storage/blobs";
import { formatFragment, LINK_MAX } from "./fragment.ts";
import { identityOf, sealList } from "./list.ts";
import { expiryOf, isBase, isLoopback, parsePresigned, type Place, urlOf } from "./place.ts";

/** Options of `createLink`. */
export interface CreateOptions {
  /** The store that has the content, and receives the list. */
  readonly backend: Backend;
  /** Of the root of the content, 64 hexadecimal digits. */
  readonly address: string;
  /** One of them has to open the root. */
  readonly identities: readonly Identity[];
  /** The address of the page that opens links, such as `https://example.com/open/`. */
  readonly page: string;
  /** For how many seconds the link works, 1 to 604,800 (7 days). Not with `publicBase`. */
  readonly expiresIn?: number | undefined;
  /**
   * The URL prefix of the blobs, if anyone may read the blobs of the store, such as
   * `https://blobs.example.com/idk/`. Such a link works until its list is removed.
   */
  readonly publicBase?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A link that was made. */
export interface CreatedLink {
  /** The link. Keep it secret, because anyone who has it can read the content. */
  readonly url: string;
  /** The address of its list. Whoever deletes that blob revokes the link. */
  readonly listAddress: Address;
  /** When the server stops serving the content; undefined with `publicBase`. */
  readonly expires: Date | undefined;
  /**
   * Whether the credentials that signed the link are temporary: the link expires with them, which may
   * be before `expires`.
   */
  readonly temporary: boolean;
}

/** Bytes that stand for a signature and a key while the length of a link is computed. */
const PLACEHOLDER = new Uint8Array(32);

/** The URLs of a store's blobs. */
interface Urls {
  readonly place: Place;
  readonly temporary: boolean;
  /** 32 bytes; empty if the blobs are public. */
  signatureOf(address: string): Uint8Array;
}

/**
 * Makes a link to content, and stores the list that it refers to. Everybody who has the link can read
 * the content, and nothing else: the root in the list is sealed for a key of its own.
 *
 * Opens the root and its nodes; chunks are not fetched.
 *
 * @throws StorageError `usage` if the store has no URLs that a browser can read, the content is
 *   compressed with zstd, or the link would be longer than 1,024 characters; and what reading the root and storing the list throw
 */
export async function createLink(options: CreateOptions): Promise<CreatedLink> {
  const { backend, identities, signal } = options;
  const address = parseAddress(options.address);
  const page = pageOf(options.page);
  const { place, temporary, signatureOf } = await urlsOf(options, address);
  const unfinished = { place, address, signature: PLACEHOLDER, secret: PLACEHOLDER };
  checkLength(`${page}#${formatFragment(unfinished)}`, place);

  const naCl = await loadNaCl();
  const secret = randomKey();
  const identity = identityOf(secret);
  const root = await rootFor(identity, address, options);
  // Opening overwrites the root.
  const { metadata } = openRoot(naCl, new Uint8Array(root), [identity]);
  if (metadata["enc"] === "zstd") {
    throw usage(
      "the content is compressed with zstd, which browsers cannot decode; store it again without " +
        "compression, or with lz4",
    );
  }
  const signatures = new Map<string, Uint8Array>();
  if (place.presigned !== undefined) {
    const store = createStore({ backend, identities, workers: 0 });
    for await (const part of store.treeAddresses(address, { signal })) {
      if (part !== address) signatures.set(part, signatureOf(part));
    }
  }
  const list = sealList(naCl, secret, { root, signatures });
  await backend.put(list.address, list.blob, { sha256: list.address, signal });
  const signature = signatureOf(list.address);
  const fragment = formatFragment({ place, address: list.address, signature, secret });
  return {
    url: `${page}#${fragment}`,
    listAddress: list.address,
    expires: expiryOf(place),
    temporary,
  };
}

async function urlsOf(
  { backend, expiresIn, publicBase, signal }: CreateOptions,
  sample: Address,
): Promise<Urls> {
  if (publicBase !== undefined) {
    if (expiresIn !== undefined) throw usage("a link to public addresses does not expire");
    if (!isBase(publicBase)) {
      throw usage("the public address must be https://HOST/PATH/, without a query, and end with /");
    }
    const place = { base: publicBase, presigned: undefined };
    return { place, temporary: false, signatureOf: () => new Uint8Array(0) };
  }
  if (backend.presign === undefined) {
    throw usage(
      `${backend.description} has no URLs that expire; links need a store on S3, MinIO or B2, or ` +
        "public addresses",
    );
  }
  if (expiresIn === undefined) throw usage("expiresIn is missing");
  const reads = await backend.presign({ expiresIn, signal });
  const parse = (name: string): ReturnType<typeof parsePresigned> =>
    parsePresigned(reads.urlOf(name), name);
  const { place } = parse(sample);
  if (!isBase(place.base)) {
    throw usage(
      `browsers cannot open links to ${new URL(place.base).origin}: use an endpoint with https://`,
    );
  }
  return {
    place,
    temporary: reads.temporary,
    signatureOf(name) {
      const { signature } = parse(name);
      // The list has signatures only, so each URL must follow from the place.
      if (urlOf(place, name, signature) === reads.urlOf(name)) return signature;
      throw usage(
        "the presigned URLs of this store differ in more than names and signatures; links need a " +
          "store on S3, MinIO or B2, or public addresses",
      );
    },
  };
}

/** The bytes of a root of the same content for the identity of the link alone, which is not stored. */
async function rootFor(
  identity: Identity,
  address: Address,
  { backend, identities, signal }: CreateOptions,
): Promise<Uint8Array> {
  let root: Uint8Array | undefined;
  const capturing = wrapBackend(backend, {
    put: () => async (_name, bytes) => {
      // Borrowed only until this returns.
      root = new Uint8Array(bytes);
    },
  });
  const store = createStore({ backend: capturing, identities, workers: 0 });
  await store.rewrap(address, [identity.recipient], { signal });
  return root!;
}

function pageOf(page: string): string {
  const problem = "the page must be https://HOST/PATH, such as https://example.com/open/";
  if (!URL.canParse(page)) throw usage(problem);
  const { href, protocol, hostname, username, password, search } = new URL(page);
  const isLocal = protocol === "http:" && isLoopback(hostname);
  const isPlain = username === "" && password === "" && search === "" && !href.includes("#");
  if (!isPlain || !(protocol === "https:" || isLocal)) throw usage(problem);
  return href;
}

function checkLength(link: string, { presigned }: Place): void {
  if (link.length <= LINK_MAX) return;
  const token = presigned?.sessionToken.length ?? 0;
  throw usage(
    `the link would have ${link.length} characters, more than ${LINK_MAX}` +
      (token > 0
        ? `, ${token} of them the session token of the credentials; use an access key without a session token`
        : "; use a shorter prefix, or a shorter address of the page"),
  );
}

function usage(message: string): StorageError {
  return new StorageError("usage", message);
}

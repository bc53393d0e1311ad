import type { Address } from "@idk/storage";
import { type CborItem, encodeCborT, fromHex } from "@idk/storage/blobs";
import { FORGOTTEN_MAX, PREVIOUS_MAX, RECORD_MAX, SIGNATURE_LENGTH } from "../limits.ts";
import { FORGETTING_CHAIN, SETTINGS_CHAIN, isChainName } from "../names/chain.ts";
import { type Marker, decodeMarker, encodeMarker } from "../names/marker.ts";
import {
  type ChainId,
  type RepositoryId,
  address,
  chainId,
  repositoryId,
} from "../names/identifiers.ts";
import { type Settings, decodeSettings, settingsItem } from "./settings.ts";
import { type Writer, publicKeyOfWriter, writerOfItem } from "../keys/writer.ts";
import {
  array,
  byteString,
  decodedItem,
  decoding,
  malformed,
  map,
  record,
  text,
  tuple,
  uint,
  versionOne,
} from "../checks.ts";

/** What every head has. */
interface HeadCommon {
  readonly repository: RepositoryId;
  readonly chain: ChainId;
  /** The name of the chain. */
  readonly name: string;
  /** 0 to 2^53−1, greater for newer heads. */
  readonly generation: number;
  /** The addresses of the heads before it, at most 64. */
  readonly previous: readonly Address[];
  /** Milliseconds since 1970, by the writer's clock. */
  readonly time: number;
  readonly writer: Writer;
  /** Seconds to the next head of the chain, if the writer makes them regularly. */
  readonly expectedSeconds: number | null;
  readonly message: string | null;
  readonly tags: readonly string[];
}

/** A snapshot. */
export interface SnapHead extends HeadCommon {
  readonly kind: "snap";
  readonly snapshot: Address;
  readonly reach: Address;
}

/** Packs of a session that is not finished, to be kept. */
export interface PartHead extends HeadCommon {
  readonly kind: "part";
  readonly reach: Address;
}

/** The repository's settings, in the chain `""`. */
export interface RepositoryHead extends HeadCommon {
  readonly kind: "repo";
  readonly settings: Settings;
}

/** Heads to forget, or not to forget after all, in the chain `"."`. */
export interface ForgettingHead extends HeadCommon {
  readonly kind: "forget" | "unforget";
  /** At most 8,192. */
  readonly markers: readonly Marker[];
}

/** Keys for readers that joined later, in the chain `"."`. */
export interface KeysHead extends HeadCommon {
  readonly kind: "keys";
  readonly keys: Address;
}

/** What a writer signs: one link of a chain. */
export type Head = SnapHead | PartHead | RepositoryHead | ForgettingHead | KeysHead;

const KEYS = ["v", "r", "c", "g", "p", "t", "w", "n", "k", "s", "x", "e", "m", "l", "o"] as const;

/**
 * Encodes the payload of a head, which is what is signed.
 *
 * @throws StorageError `head` if a reader would refuse it
 */
export function encodePayload(head: Head): Uint8Array<ArrayBuffer> {
  const payload = encodeCborT(
    new Map<string, CborItem>([
      ["v", 1],
      ["r", fromHex(head.repository)],
      ["c", fromHex(head.chain)],
      ["g", head.generation],
      ["p", head.previous.map(fromHex)],
      ["t", head.time],
      ["w", publicKeyOfWriter(head.writer)],
      ["n", head.name],
      ["k", head.kind],
      [
        "s",
        head.kind === "snap"
          ? fromHex(head.snapshot)
          : head.kind === "keys"
            ? fromHex(head.keys)
            : null,
      ],
      ["x", head.kind === "snap" || head.kind === "part" ? fromHex(head.reach) : null],
      ["e", head.expectedSeconds],
      ["m", head.message],
      ["l", head.tags],
      [
        "o",
        head.kind === "forget" || head.kind === "unforget" ? head.markers.map(encodeMarker) : [],
      ],
      ...(head.kind === "repo" ? [["z", settingsItem(head.settings)] as const] : []),
    ]),
  );
  decodePayload(payload);
  return payload;
}

/**
 * Decodes the payload of a head. Neither its signature is verified nor whether it counts.
 *
 * @throws StorageError `head`
 */
export function decodePayload(payload: Uint8Array): Head {
  return decoding("head", "the head", () => readPayload(payload));
}

function readPayload(payload: Uint8Array): Head {
  const item = decodedItem(payload, RECORD_MAX);
  const kind = text(map(item, "its payload").get("k"), "its kind");
  if (kind !== "repo") return readHead(record(item, "its payload", KEYS), kind);
  const fields = record(item, "its payload", [...KEYS, "z"]);
  const head = readHead(fields, kind);
  return head.kind === "repo" ? { ...head, settings: decodeSettings(fields.z) } : head;
}

type Fields = Readonly<Record<(typeof KEYS)[number], CborItem>>;

/** Reads everything but settings. */
function readHead(fields: Fields, kind: string): Head {
  versionOne(fields.v);
  const name = text(fields.n, "the name of its chain");
  if (!isChainName(name)) throw malformed("the name of its chain is not a name of chains");
  const common: HeadCommon = {
    repository: repositoryId(fields.r, "its repository"),
    chain: chainId(fields.c, "its chain"),
    name,
    generation: uint(fields.g, "its generation"),
    previous: array(fields.p, "the heads before it", PREVIOUS_MAX).map((item) =>
      address(item, "a head before it"),
    ),
    time: uint(fields.t, "its time"),
    writer: writerOfItem(fields.w, "its writer"),
    expectedSeconds: fields.e === null ? null : uint(fields.e, "the expected seconds"),
    message: fields.m === null ? null : text(fields.m, "its message"),
    tags: array(fields.l, "its tags").map((item) => text(item, "a tag")),
  };
  const markers = array(fields.o, "the markers that it names", FORGOTTEN_MAX);
  const isForgetting = kind === "forget" || kind === "unforget";
  if (markers.length > 0 && !isForgetting) throw malformed("it names markers without forgetting");
  const chain =
    kind === "repo"
      ? SETTINGS_CHAIN
      : kind === "snap" || kind === "part"
        ? undefined
        : FORGETTING_CHAIN;
  const isNamed = name !== SETTINGS_CHAIN && name !== FORGETTING_CHAIN;
  if (chain === undefined ? !isNamed : name !== chain) {
    throw malformed("its kind does not belong into its chain");
  }
  const [snapshot, reach] = [fields.s, fields.x];
  const absent = (item: CborItem) => {
    if (item !== null) throw malformed("it has an address that its kind does not have");
  };
  switch (kind) {
    case "snap":
      return {
        kind,
        ...common,
        snapshot: address(snapshot, "its snapshot"),
        reach: address(reach, "its reach"),
      };
    case "part":
      absent(snapshot);
      return { kind, ...common, reach: address(reach, "its reach") };
    case "keys":
      absent(reach);
      return { kind, ...common, keys: address(snapshot, "its keys") };
    case "repo":
      absent(snapshot);
      absent(reach);
      return { kind, ...common, settings: NO_SETTINGS };
    case "forget":
    case "unforget":
      absent(snapshot);
      absent(reach);
      return {
        kind,
        ...common,
        markers: markers.map((item) => decodeMarker(byteString(item, "a marker"))),
      };
    default:
      throw malformed("its kind is unknown");
  }
}

/** Replaced before the head is returned. */
const NO_SETTINGS: Settings = { graceSeconds: 0, rules: [] };

/** A head with its signature: the content of a blob of the type `RECORD_TYPES.head`. */
export interface SignedHead {
  /** As it was signed. */
  readonly payload: Uint8Array;
  readonly signature: Uint8Array;
}

/** Encodes a signed head. */
export function encodeHead({ payload, signature }: SignedHead): Uint8Array<ArrayBuffer> {
  const bytes = encodeCborT([payload, signature]);
  decodeHead(bytes);
  return bytes;
}

/**
 * Decodes a signed head. Its signature is not verified.
 *
 * @throws StorageError `head`
 */
export function decodeHead(bytes: Uint8Array): SignedHead & { readonly head: Head } {
  return decoding("head", "the head", () => {
    const fields = tuple(decodedItem(bytes, RECORD_MAX), "it", 2);
    const payload = byteString(fields[0], "its payload");
    const signature = byteString(fields[1], "its signature", SIGNATURE_LENGTH);
    return { payload, signature, head: readPayload(payload) };
  });
}

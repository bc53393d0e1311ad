import type { BucketReport, BucketSettings, DefaultEncryption } from "@idk/storage/provision";
import type { ObjectLocation } from "@idk/storage/url";
import { type Command, command } from "../command.ts";
import { field, flag, optional, store, text } from "../config/settings.ts";
import { Failure, usage, worstOf } from "../errors/failures.ts";
import { createFolder } from "../folders.ts";
import { aligned, count, printable, type Row } from "../output/text.ts";
import type { Session } from "../session.ts";
import { bucketOptions, openBackend, retryOptions } from "../stores/open-store.ts";
import { type Findings, type Need, NEEDS, probe } from "../stores/probe.ts";
import { type CheckFailure, encryptionFailure, failuresOf } from "../stores/remedies.ts";

export const storeInit: Command = command(
  {
    location: store,
    versioning: flag,
    objectLock: flag,
    lifecycleDays: optional(field(parseDays)),
    defaultSse: optional(field(parseEncryption)),
    kmsKey: optional(text),
    cors: optional(text),
  },
  async (
    { location, versioning, objectLock, lifecycleDays, defaultSse, kmsKey, cors: corsOrigin },
    session,
  ) => {
    const settings: BucketSettings = {
      versioning,
      objectLock,
      lifecycleDays,
      defaultEncryption: withKey(defaultSse, kmsKey),
      corsOrigin,
    };
    const { made, there } =
      location.kind === "filesystem"
        ? await initFolder(location.folder, settings)
        : await init(location, settings, session);
    const name = location.kind === "filesystem" ? location.folder : location.bucket;
    const line = (setting: string): string =>
      setting === "folder" || setting === "bucket" ? `${setting} ${name}` : setting;
    const lines = [
      ...made.map((setting) => `created  ${line(setting)}`),
      ...there.map((setting) => `exists   ${line(setting)}`),
    ];
    await session.out.result(lines.join("\n"), { made, there });
  },
);

type InitReport = {
  readonly made: readonly string[];
  readonly there: readonly string[];
};

async function init(
  location: ObjectLocation,
  settings: BucketSettings,
  session: Session,
): Promise<BucketReport> {
  const { initBucket } = await import("@idk/storage/provision");
  return initBucket(await bucketOptions(location, session), settings, {
    signal: session.signal,
    retry: await retryOptions(location, session),
  });
}

async function initFolder(folder: string, settings: BucketSettings): Promise<InitReport> {
  if (Object.values(settings).some(Boolean)) {
    throw usage("a folder has no versioning, locks, encryption settings or CORS rules");
  }
  return (await createFolder(folder))
    ? { made: ["folder"], there: [] }
    : { made: [], there: ["folder"] };
}

function parseDays(text: string): number {
  const days = Number(text);
  if (/^\d{1,5}$/u.test(text) && days >= 1) return days;
  throw new Error("must be a number of days from 1");
}

function parseEncryption(text: string): DefaultEncryption["type"] {
  if (text === "AES256" || text === "aws:kms") return text;
  throw new Error("must be AES256 or aws:kms; for your own key, use sse-c-key in the URL");
}

function withKey(
  type: DefaultEncryption["type"] | undefined,
  keyId: string | undefined,
): DefaultEncryption | undefined {
  if (keyId === "") throw usage("--kms-key must not be empty");
  if (type === "aws:kms") return { type, keyId };
  if (keyId !== undefined) throw usage("--kms-key needs --default-sse aws:kms");
  return type && { type };
}

export const storeCheck: Command = command({ location: store }, async (settings, session) => {
  const { out, signal } = session;
  await using backend = await openBackend(settings.location, session);
  const found = await probe(backend, signal);
  const failures = [
    ...failuresOf(found, settings.location.kind),
    ...encryptionFailure(found, settings.location),
  ];
  await out.result(describe(backend.description, found, failures), {
    store: backend.description,
    ok: failures.length === 0,
    ...Object.fromEntries(NEEDS.map((need) => [need, found.needs[need].ok ?? null])),
    attestation: found.attestation ?? null,
    conditionalPut: found.conditionalPut ?? null,
    versions: found.versions ?? null,
    encryption: found.encryption ?? null,
    roundTripMs: found.roundTripMs ?? null,
    failures,
  });
  await out.flush();
  if (found.left !== undefined) {
    await out.note(
      `idk: note: the test blob could not be removed; remove it with \`idk rm ${found.left}\``,
    );
  }
  throwIfFailed(failures);
});

function throwIfFailed(failures: readonly CheckFailure[]): void {
  if (failures.length === 0) return;
  const code = worstOf(failures.map(({ code }) => code));
  throw new Failure(code, `${count(failures.length, "check")} failed`);
}

function describe(store: string, found: Findings, failures: readonly CheckFailure[]): string {
  const { needs, roundTripMs, encryption = "unknown" } = found;
  const need = (name: Need): string => (needs[name].ok === undefined ? "not tested" : "yes");
  const facts: [string, string][] = [
    ...NEEDS.map((name): [string, string] => [name, need(name)]),
    ["checksums", yesOrNo(found.attestation, CHECKSUMS)],
    ["conditional put", yesOrNo(found.conditionalPut)],
    ["versions", yesOrNo(found.versions, VERSIONS)],
    ["encryption", encryption || "none at rest"],
    [
      "round trip",
      roundTripMs === undefined ? "unknown" : `${Number(roundTripMs.toPrecision(2))} ms`,
    ],
  ];
  const rows = facts.flatMap(([name, fact]): Row[] => {
    const failed = failures.find(({ check }) => check === name);
    if (failed === undefined) return [[name, fact]];
    return [
      [name, `NO: ${failed.message}`],
      ["", `→ ${failed.remedy}`],
    ];
  });
  return aligned([["store", printable(store)], ...rows]).join("\n");
}

type Answers = Readonly<Record<"yes" | "no", string>>;

const CHECKSUMS: Answers = {
  yes: "yes: verifies and keeps SHA-256, for `idk verify --server-checksums`",
  no: "no: `idk verify` has to download every blob",
};
const VERSIONS: Answers = {
  yes: "yes: can keep overwritten and deleted objects",
  no: "no",
};

function yesOrNo(
  value: boolean | undefined,
  { yes, no }: Answers = { yes: "yes", no: "no" },
): string {
  if (value === undefined) return "unknown";
  return value ? yes : no;
}

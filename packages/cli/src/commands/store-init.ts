import type { BucketReport, BucketSettings, DefaultEncryption } from "@idk/storage/provision";
import { type Command, command } from "../command.ts";
import { field, flag, optional, store, text } from "../settings.ts";
import type { ObjectLocation } from "@idk/storage/url";
import type { Session } from "../session.ts";
import { retryOptions } from "../open-store.ts";
import { bucketOptions } from "../open-object-store.ts";
import { createFolder } from "../folder.ts";
import { usage } from "../failures.ts";

export const storeInit: Command = command(
  {
    target: store,
    versioning: flag,
    objectLock: flag,
    lifecycleDays: optional(field(parseDays)),
    defaultSse: optional(field(parseEncryption)),
    kmsKey: optional(text),
  },
  async ({ target, versioning, objectLock, lifecycleDays, defaultSse, kmsKey }, session) => {
    const wishes: BucketSettings = {
      versioning,
      objectLock,
      lifecycleDays,
      defaultEncryption: withKey(defaultSse, kmsKey),
    };
    const { made, there } =
      target.kind === "filesystem"
        ? await initFolder(target.folder, wishes)
        : await init(target, wishes, session);
    const name = target.kind === "filesystem" ? target.folder : target.bucket;
    const line = (setting: string): string =>
      setting === "folder" || setting === "bucket" ? `${setting} ${name}` : setting;
    const lines = [
      ...made.map((setting) => `made   ${line(setting)}`),
      ...there.map((setting) => `there  ${line(setting)}`),
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
  wishes: BucketSettings,
  session: Session,
): Promise<BucketReport> {
  const { initBucket } = await import("@idk/storage/provision");
  return initBucket(await bucketOptions(location, session), wishes, {
    signal: session.signal,
    retry: await retryOptions(location, session),
  });
}

async function initFolder(folder: string, wishes: BucketSettings): Promise<InitReport> {
  if (Object.values(wishes).some(Boolean)) {
    throw usage("a folder has no versions, locks or encryption of its own to be set");
  }
  return (await createFolder(folder))
    ? { made: ["folder"], there: [] }
    : { made: [], there: ["folder"] };
}

function parseDays(text: string): number {
  const days = Number(text);
  if (/^\d{1,5}$/u.test(text) && days >= 1) return days;
  throw new Error("must be a number of days, 1 or more");
}

function parseEncryption(text: string): DefaultEncryption["type"] {
  if (text === "AES256" || text === "aws:kms") return text;
  throw new Error("must be AES256 or aws:kms; a key of one's own goes with each blob: sse-c-key");
}

function withKey(
  type: DefaultEncryption["type"] | undefined,
  keyId: string | undefined,
): DefaultEncryption | undefined {
  if (keyId === "") throw usage("--kms-key must not be empty");
  if (type === "aws:kms") return { type, keyId };
  if (keyId !== undefined) throw usage("--kms-key goes with --default-sse aws:kms");
  return type && { type };
}

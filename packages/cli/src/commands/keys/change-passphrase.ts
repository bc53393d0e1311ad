import { StorageError } from "@idk/storage";
import { type Command, command } from "../../command.ts";
import {
  choice,
  flag,
  identitySources,
  optional,
  passphrase,
  text,
} from "../../config/settings.ts";
import { Failure, usage } from "../../errors/failures.ts";
import { promptPassphrase } from "../../keys/identities.ts";
import { describeSource, type IdentitySource } from "../../keys/identity-source.ts";
import { type KeyKind, kindOf, type OpenedKey } from "../../keys/key-kinds.ts";
import { askNewPassphrase } from "../../keys/new-identity.ts";
import { replaceKeyFile, type Replacement } from "../../keys/replace-key-file.ts";
import { looksLikeIdentity } from "../../output/text.ts";
import type { Session } from "../../session.ts";

/** `idk keygen --change` */
export const changePassphrase: Command = command(
  {
    identity: identitySources,
    output: optional(text),
    keychain: optional(text),
    writer: flag,
    protect: choice,
    armor: flag,
    passphrase,
    newPassphrase: passphrase,
  },
  async ({ identity, output, keychain, writer, protect, armor, ...given }, session) => {
    if (output !== undefined || keychain !== undefined) {
      throw usage("--change changes the file that -i names: omit -o and --keychain");
    }
    if (armor && protect === false) {
      throw usage("--armor and --no-passphrase exclude each other: such a file is text already");
    }
    const path = fileOf(identity);
    let publicKey: OpenedKey["publicKey"] | undefined;
    let wasProtected = false;
    const replaced = await replaceKeyFile(path, "key file", async (old) => {
      const kind = await kindOf(old);
      const name = `${kind.name} file ${path}`;
      if (writer && kind.name !== "writer key") throw usage(`the ${name} is not a writer key file`);
      wasProtected = kind.isProtected(old);
      const key = await open(kind, name, old, given.passphrase, session);
      ({ publicKey } = key);
      if (protect === false) {
        if (!wasProtected) throw usage(`the ${name} has no passphrase`);
        return key.text();
      }
      const comments = wasProtected ? [] : commentsOf(old, key);
      if (holdsKey(comments)) {
        throw usage(
          `the ${name} has a key in a comment, and a protected file holds one key: ` +
            "write each to a file of its own",
        );
      }
      if (comments.length > 0) {
        await session.out.note(
          `idk: warning: the comments in ${path} are not kept: a protected file holds the key only`,
        );
      }
      const next =
        given.newPassphrase ??
        (await askNewPassphrase(session, "pass --no-passphrase", "IDK_NEW_PASSPHRASE"));
      // A file that was text stays one.
      const made = await key.protect(next, armor || (wasProtected && isText(old)));
      // The old file is the only one that surely opens until this has succeeded.
      const again = await kind.open(made, next);
      if (Buffer.compare(again.text(), key.text()) !== 0) {
        throw new Failure("unexpected", `the new ${name} does not hold the same key`);
      }
      return made;
    });
    const printed = Object.values(publicKey ?? {}).join();
    await session.out.result(printed, { ...publicKey, file: path, protected: protect !== false });
    await session.out.flush();
    for (const note of notesOn(path, { protect, wasProtected, ...replaced })) {
      await session.out.note(`idk: ${note}`);
    }
  },
);

function fileOf(sources: readonly IdentitySource[]): string {
  const [source, ...others] = sources;
  if (source === undefined) throw usage("no identity: name its file with -i FILE");
  if (others.length > 0) {
    throw usage(`there are ${sources.length} identities: name the one to change with -i FILE`);
  }
  if (source.kind === "file") return source.path;
  throw usage(
    `the ${describeSource(source)} is not a file, and --change changes the passphrase of a file: ` +
      "name one with -i FILE",
  );
}

async function open(
  kind: KeyKind,
  name: string,
  bytes: Uint8Array,
  passphrase: string | undefined,
  session: Session,
): Promise<OpenedKey> {
  try {
    return await kind.open(bytes, passphrase ?? (() => promptPassphrase(name, session)));
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new Failure(error.code, `${name}: ${error.message}`, error);
  }
}

/** The comments of a text file other than the one that `idk keygen` writes. */
function commentsOf(bytes: Uint8Array, key: OpenedKey): string[] {
  const usual = linesOf(key.text());
  return linesOf(bytes).filter((line) => line.startsWith("#") && !usual.includes(line));
}

/** Whether there is a key that was put aside, perhaps the armor of one, which has several lines. */
function holdsKey(comments: readonly string[]): boolean {
  return looksLikeIdentity(comments.map((line) => line.replace(/^#[#\s]*/u, "")).join("\n"));
}

function linesOf(bytes: Uint8Array): string[] {
  return Buffer.from(bytes)
    .toString()
    .split("\n")
    .map((line) => line.trim());
}

function isText(bytes: Uint8Array): boolean {
  return Buffer.from(bytes).toString("latin1").trimStart().startsWith("-----BEGIN ");
}

interface Change extends Replacement {
  readonly protect: boolean | undefined;
  readonly wasProtected: boolean;
}

function* notesOn(
  path: string,
  { protect, wasProtected, linked, overwritten, formerMode }: Change,
): Generator<string> {
  if (protect === false)
    yield `${path} no longer has a passphrase: anyone who can read the file can use the key`;
  else if (wasProtected) {
    yield `the passphrase of ${path} was changed; copies and backups of the file keep the old one`;
  } else {
    yield `${path} is now protected; copies and backups of the file are not`;
  }
  if ((formerMode & 0o077) !== 0) {
    yield `only the owner of ${path} can use it now: its mode was ${formerMode.toString(8)}`;
  }
  if (linked) {
    yield `warning: another hard link to ${path} still has the old content: replace it, too`;
  } else if (!overwritten) {
    yield `warning: the old content of ${path} could not be overwritten, and may remain on the disk`;
  }
}

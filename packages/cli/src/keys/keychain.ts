import { Failure, usage } from "../errors/failures.ts";

/*
 * The secret store of the operating system, by way of the runtime: the Keychain on macOS, the
 * Credential Manager on Windows, and the Secret Service, through libsecret, elsewhere.
 */

/** What all secrets of this program are filed under. */
const SERVICE = "idk";

/** @throws Failure `usage` where there is none of this name, or no such store */
export async function readKeychain(name: string): Promise<Uint8Array> {
  const found = await find(name);
  if (found !== undefined) return Buffer.from(found);
  throw usage(
    `the keychain of this system holds no identity called ${name}, or is locked ` +
      `(\`idk keygen --keychain ${name}\` makes one)`,
  );
}

/**
 * Files a new identity.
 *
 * @throws Failure `usage` where there is one of this name, or no such store
 */
export async function addToKeychain(name: string, identity: string): Promise<void> {
  if ((await find(name)) !== undefined) {
    throw usage(
      `the keychain has an identity called ${name} already, and an identity is never overwritten`,
    );
  }
  await asking(Bun.secrets.set({ service: SERVICE, name, value: identity }));
  // Some services take what they do not keep.
  if ((await find(name)) !== identity) {
    throw new Failure("output", `the keychain did not keep the identity ${name}`);
  }
}

/** Whether there is an identity of this name. */
export async function hasInKeychain(name: string): Promise<boolean> {
  return (await find(name)) !== undefined;
}

async function find(name: string): Promise<string | undefined> {
  return (await asking(Bun.secrets.get({ service: SERVICE, name }))) ?? undefined;
}

async function asking<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw usage(
      `the secret store of this system cannot be used (${said}): ${REMEDY}, or keep the identity ` +
        "in a file, or have a command print it",
      error,
    );
  }
}

const REMEDY =
  process.platform === "linux"
    ? "it takes libsecret, and a Secret Service such as GNOME Keyring in this session"
    : "unlock it and allow access";

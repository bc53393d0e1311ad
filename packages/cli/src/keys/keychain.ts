import { Failure, messageOf, usage } from "../errors/failures.ts";

/*
 * The secret store of the operating system, through the runtime: Keychain on macOS, Credential
 * Manager on Windows, and the Secret Service, through libsecret, elsewhere.
 */

/** The service name of all secrets of this program. */
const SERVICE = "idk";

/** @throws Failure `usage` if there is no identity of this name, or no keychain */
export async function readKeychain(name: string): Promise<Uint8Array> {
  const found = await find(name);
  if (found !== undefined) return Buffer.from(found);
  throw usage(
    `the keychain of this system has no identity named ${name}, or is locked ` +
      `(create one with \`idk keygen --keychain ${name}\`)`,
  );
}

/**
 * Adds a new identity.
 *
 * @throws Failure `usage` if there is one of this name already, or no keychain
 */
export async function addToKeychain(name: string, identity: string): Promise<void> {
  if ((await find(name)) !== undefined) {
    throw usage(
      `the keychain already has an identity named ${name}, and identities are never overwritten`,
    );
  }
  await withRemedy(Bun.secrets.set({ service: SERVICE, name, value: identity }));
  // Some services accept a secret and do not keep it.
  if ((await find(name)) !== identity) {
    throw new Failure("output", `the keychain did not keep the identity ${name}`);
  }
}

/** Whether there is an identity of this name. */
export async function hasInKeychain(name: string): Promise<boolean> {
  return (await find(name)) !== undefined;
}

async function find(name: string): Promise<string | undefined> {
  return (await withRemedy(Bun.secrets.get({ service: SERVICE, name }))) ?? undefined;
}

async function withRemedy<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw usage(
      `the secret store of this system cannot be used (${messageOf(error)}): ${REMEDY}, or keep the identity ` +
        "in a file, or use a command that prints it",
      error,
    );
  }
}

const REMEDY =
  process.platform === "linux"
    ? "install libsecret and run a Secret Service such as GNOME Keyring in this session"
    : "unlock it and allow access";

import { existsSync, readFileSync, writeFileSync } from "node:fs";

/**
 * A preload that keeps the secrets of the keychain in the file KEYCHAIN_FILE. With KEYCHAIN_FAULT,
 * every call fails as without a Secret Service.
 */

const file = process.env["KEYCHAIN_FILE"] ?? "";

interface Entry {
  readonly service: string;
  readonly name: string;
  readonly value?: string;
}

function entries(): Record<string, string> {
  if (process.env["KEYCHAIN_FAULT"]) throw new Error("Cannot autolaunch D-Bus");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Record<string, string>) : {};
}

const standIn = {
  get: async ({ service, name }: Entry): Promise<string | null> =>
    entries()[`${service}/${name}`] ?? null,
  set: async ({ service, name, value = "" }: Entry): Promise<void> => {
    writeFileSync(file, JSON.stringify({ ...entries(), [`${service}/${name}`]: value }));
  },
};

Object.defineProperty(Bun, "secrets", { value: standIn });

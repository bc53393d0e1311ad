import { readFileSync } from "node:fs";

interface KnownKeys {
  readonly identities: readonly {
    readonly secretKey: string;
    readonly identity: string;
    readonly recipient: string;
    readonly publicKey: string;
  }[];
  readonly keyfile: {
    readonly passphrase: string;
    readonly logN: number;
    readonly secretKey: string;
    readonly hex: string;
  };
}

/** Keys as written by two other implementations. */
export const known: KnownKeys = JSON.parse(
  readFileSync(new URL("../../../../testdata/known-answers.json", import.meta.url), "utf8"),
) as KnownKeys;

export function unhex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, "hex"));
}

export function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

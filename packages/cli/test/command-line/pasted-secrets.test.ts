import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { looksLikeSecret } from "../../src/output/secrets.ts";
import { redact } from "../../src/output/text.ts";
import { createWorkspace, type Result } from "../support/cli.ts";

const { idk, ok, path, recipient, write } = await createWorkspace();
const address = (await idk(["put", "-"], { stdin: "x" })).stdout.trim();

const KEY = "qpzry9x8gf2tvdw0s3jn54khce6mua7lqpzry9x8gf2tvdw0s3jn54khce";

/** Secrets of each kind, made up. */
const SECRETS: Readonly<Record<string, string>> = {
  "an identity": `IDK-SECRET-KEY-1${KEY.toUpperCase()}`,
  "an identity of age": `AGE-SECRET-KEY-1${KEY.toUpperCase()}`,
  "an identity of an age plugin": `AGE-PLUGIN-YUBIKEY-1${KEY.toUpperCase().slice(0, 20)}`,
  "a secret access key": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
  "an application key of B2": "K005aBcDeFgHiJkLmNoPqRsTuVwXyZ0",
  "a dedup secret in hexadecimal":
    "0F1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
  "a dedup secret in Base64": "Dx4tPEtaaXiHlqW0w9Lh8A8eLTxLWml4h5altMPS4fA=",
  "a line of PEM": "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
  "a quoted assignment": 'export AWS_SECRET_ACCESS_KEY="wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"',
  "a URL with a password": "https://alice:Hunter2-Sesame-99@example.com/x",
  "a protected identity in armor":
    "-----BEGIN IDK PROTECTED IDENTITY-----\nSURLSwEOAAECAwQFBgcICQoLDA0ODwaL8n+T0KhroWigrdch11Orkt7BHDiCwbl8\n",
  "a file in PEM":
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n",
};

/** More forms. */
const OTHERS: Readonly<Record<string, string>> = {
  "a dedup secret as a number":
    "0x0F1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0",
  "the end of an identity": KEY.toUpperCase(),
  "a JSON Web Token":
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJJRDEyMzQ1Njc4OTAifQ.XbPfbIHMI6arZ3Y922BhjWgQzWXcXNrz0og",
  "a store with a password": "s3://AKIAEXAMPLE:Hunter2-Sesame-99@bucket/prefix",
  "a presigned URL": "https://b.example.com/x?X-Amz-Signature=fe5f80f77d5fa3beca038a248ff027d04453",
  "a store with a fragment": "s3://bucket/prefix#Hunter2-Sesame-99",
};

/** Where it does not belong, and the environment. */
const PLACES: readonly (readonly [args: (secret: string) => string[], variable?: string])[] = [
  [(secret) => [secret]],
  [(secret) => ["help", secret]],
  [(secret) => ["store", secret]],
  [(secret) => ["put", secret]],
  [(secret) => ["put", "-", secret]],
  [(secret) => ["put", "--from-file", secret]],
  [(secret) => ["put", "-", "--done", secret]],
  [(secret) => ["put", "-", "--dedup-secret", secret]],
  [(secret) => ["put", "-", "-r", secret]],
  [(secret) => ["put", "-", "-R", secret]],
  [(secret) => ["put", "-", "--store", secret]],
  [(secret) => ["put", "-", `--key=${secret}`]],
  [(secret) => ["put", "-", `--compress=${secret}`]],
  [(secret) => ["put", "-", `-${secret}`]],
  [(secret) => ["get", `${secret} `]],
  [(secret) => ["get", address, "-i", secret]],
  [(secret) => ["get", address, "-i", `keychain:${secret}`]],
  [(secret) => ["get", address, "--range", secret]],
  [(secret) => ["get", "--from-file", secret, "--output-dir", "x"]],
  [(secret) => ["ls", "--store", secret]],
  [(secret) => ["ls", "--config", secret]],
  [(secret) => ["copy", "--from", "blobs", "--to", `x${secret}:${secret}`]],
  [(secret) => ["copy", "--from", secret, "--to", "x"]],
  [(secret) => ["share", address, "-r", secret]],
  [(secret) => ["get", address, "-o", secret]],
  [(secret) => ["keygen", "-o", secret]],
  [(secret) => ["init", "-i", secret]],
  [() => ["put", "-"], "IDK_STORE"],
  [() => ["put", "-"], "IDK_RECIPIENTS"],
  [() => ["get", address], "IDK_IDENTITY"],
  [() => ["get", address], "IDK_IDENTITY_COMMAND"],
  [() => ["ls"], "IDK_CONFIG"],
];

const text = ({ stdout, stderr }: Result) => stdout + stderr;

// Each secret in every third place, so that each place has three or more of them.
describe.each(Object.entries(SECRETS))("%s", (name, secret) => {
  const first = Object.keys(SECRETS).indexOf(name) % 3;
  const places = [...PLACES.entries()].filter(([index]) => index % 3 === first);

  // Enough of it to recognize.
  const from = Math.max(18, secret.search(/Hunter2|FEMI/u));
  const part = secret.replace(/^-.*\n/u, "").slice(from, from + 12);

  test("is not repeated, wherever it is given", async () => {
    for (const [index, [args, variable]] of places) {
      const env = variable === undefined ? {} : { [variable]: secret };
      const given = [...args(secret), ...(index % 2 === 0 ? [] : ["--json"])];
      const result = await idk(given, { env, stdin: "x" });
      expect([given, text(result).includes(part)]).toEqual([given, false]);
      // A command that has all settings does not use the file.
      if (variable !== "IDK_CONFIG") expect([given, result.code]).toEqual([given, 2]);
    }
  });

  test("is not repeated from a list, a configuration or the overview of it", async () => {
    write("list", `${secret}\n`);
    for (const args of [
      ["put", "--from-file", "list"],
      ["get", "--from-file", "list", "--output-dir", "from-list"],
      ["put", "-", "-R", "list"],
      ["get", address, "-i", "list"],
      ["ls", "--config", "list"],
    ]) {
      const result = await idk(args, { stdin: "x" });
      expect(text(result)).not.toContain(part);
      expect(result.code).toBe(2);
    }
    write("config.toml", `default = "${secret}"\n[store.x]\nurl = "y"\n`);
    expect(text(await idk(["put", "-", "--config", "config.toml"]))).not.toContain(part);
    write("config.toml", `"${secret}" = "x"\n`);
    expect(text(await idk(["put", "-", "--config", "config.toml"]))).not.toContain(part);
    const env = { IDK_STORE: secret, IDK_RECIPIENTS: secret, IDK_IDENTITY: secret };
    expect(text(await idk(["config"], { env }))).not.toContain(part);
    write("config.toml", `[store.x]\nurl = ${JSON.stringify(secret)}\n`);
    expect(text(await idk(["config", "--config", "config.toml"]))).not.toContain(part);
  });
});

test.each(Object.entries(OTHERS))("%s looks like a secret", async (_, secret) => {
  for (const text of [secret, `--key=${secret}`, ` ${secret} `, `"${secret}"`])
    expect([text, looksLikeSecret(text)]).toEqual([text, true]);
  const env = { IDK_STORE: secret, IDK_RECIPIENTS: secret, IDK_IDENTITY: secret };
  expect(text(await idk(["config"], { env }))).not.toContain(
    secret.slice(Math.max(18, secret.search(/Hunter2|fe5f80f/u))).slice(0, 12),
  );
});

/** What remains of an identity if its beginning is copied or typed wrongly. */
const MISTYPED = [
  "IDK-SECRET-KEY1",
  "DK-SECRET-KEY-1",
  "SECRET-KEY-1",
  "IDK-SECRET-KEY-",
  "IDK_SECRET_KEY_1",
  "IDK SECRET KEY 1",
  "IDK-SECRET-KEY-l",
  "IDK-SECRT-KEY-1",
  "IDK-WRITER-SECRET-KEY1",
  "AGE-SECRET-KEY1",
  "Identity: KEY1",
].flatMap((beginning) => [beginning + KEY.toUpperCase(), `${beginning}${KEY}`.toLowerCase()]);

test.each(MISTYPED)("%s is not repeated in messages", (secret) => {
  const part = new RegExp(KEY.slice(12, 24), "iu");
  for (const given of [secret, `x/${secret}.txt`, `"${secret}"`]) {
    expect([given, looksLikeSecret(given)]).toEqual([given, true]);
    expect(redact(`cannot read ${given}: no such file`)).not.toMatch(part);
  }
});

test.each(["IDK-SECRET-KEY1", "DK-SECRET-KEY-1", "Y-1", "IDK_SECRET_KEY_1"])(
  "an identity that begins with %s is not repeated, nor to be written to a recipients file",
  async (beginning) => {
    const secret = `${beginning}${KEY.toUpperCase()}`;
    write("config.toml", `recipients = ["${secret}"]\n`);
    const publicKey = "looks like a secret key: give the public key instead";
    for (const [args, env, message] of [
      [["put", "-", "-R", secret], {}, publicKey],
      [["put", "-"], { IDK_RECIPIENTS: secret }, publicKey],
      [["put", "-", "--config", "config.toml"], { IDK_RECIPIENTS: "" }, publicKey],
      [["get", address, "-i", secret], {}, ""],
    ] as const) {
      const result = await idk(args, { env, stdin: "x" });
      expect(text(result)).not.toContain(KEY.slice(12, 24).toUpperCase());
      expect(result.stderr).toContain(message);
      expect(result.code).toBe(2);
    }
  },
);

test("messages say what it looks like", async () => {
  const secret = SECRETS["a secret access key"]!;
  expect((await idk(["put", secret])).stderr).toBe(
    "idk: FILE looks like a secret key, not a file: write it to a file and name that\n",
  );
  expect((await idk(["ls", "--store", secret])).stderr).toBe(
    "idk: --store or IDK_STORE looks like a secret key, not a store\n",
  );
  const url = OTHERS["a presigned URL"]!;
  expect((await idk(["put", url])).stderr).toBe("idk: FILE is a URL, not a file\n");
  expect((await idk([url])).stderr).toBe("idk: unknown command '…', which is a URL\n");
  expect(
    (await idk(["recipient"], { env: { IDK_IDENTITY: "", IDK_IDENTITY_COMMAND: secret } })).stderr,
  ).toBe("idk: IDK_IDENTITY_COMMAND looks like a secret key, not a command that prints one\n");
  expect((await idk([secret])).stderr).toBe(
    "idk: unknown command '…', which looks like a secret key\n",
  );
});

test("files and folders of such names work, and files can be named by addresses", async () => {
  const name = SECRETS["a secret access key"]!;
  mkdirSync(path("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEX"), { recursive: true });
  await ok(["get", address, "-o", "wJalrXUtnFEMI/K7MDENG/aPxRfiCYEXAMPLEKEY"]);
  write(name, "content");
  await ok(["put", name]);
  await ok(["get", address, "-o", address]);
  await ok(["put", address]);
  await ok(["get", address, "--output-dir", "f".repeat(64)]);
});

test("words, paths, addresses and recipients do not look like secrets", () => {
  for (const plain of [
    recipient,
    "keys/2024/backup-of-the-server-in-the-basement",
    "a".repeat(63),
    recipient.toUpperCase(),
    `idk-writer1${KEY}`,
    "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p",
    "chunks/0a/0acdef0acdef0acdef0acdef0acdef0acdef0acdef0acdef0acdef0acdef0acd",
    "Holiday photos 2024, the island and the beach.zip",
    "s3://a-bucket-with-a-Long-name/and-a-prefix-2024",
    "--recipients-file",
    "IDK-SECRET-KEY-",
    "https://example.com/a/path",
    "me@example.com: what is this?",
    "op read op://vault/item/field?attribute=otp",
    "DSC_0001, 2024-07-01.JPG",
  ]) {
    expect([plain, looksLikeSecret(plain)]).toEqual([plain, false]);
    expect(redact(plain)).toBe(plain);
  }
});

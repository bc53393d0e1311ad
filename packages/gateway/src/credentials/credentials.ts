import { parse, TomlError } from "smol-toml";

/** What a key may do: `read` objects, `write` (also delete) them and their buckets, `list` both. */
export type Right = "read" | "write" | "list";

const RIGHTS: readonly Right[] = ["read", "write", "list"];

/** An access key and what it may do. */
export interface AccessKey {
  readonly id: string;
  readonly secret: string;
  /** Names of buckets; `*` matches any text. */
  readonly buckets: readonly string[];
  /** What keys of objects begin with; empty for any key. */
  readonly prefixes: readonly string[];
  readonly rights: readonly Right[];
}

/** The keys of a gateway that are enabled, and the token that reads its metrics. */
export interface Credentials {
  readonly keys: ReadonlyMap<string, AccessKey>;
  /** Undefined if only the same machine may read the metrics. */
  readonly metricsToken: string | undefined;
}

/** A fault in a credentials file. The message never contains a secret. */
export class CredentialsError extends Error {
  override readonly name = "CredentialsError";
}

const ID = /^[\w./+=-]{3,128}$/u;
const SECRET_MIN = 8;
/** What a pattern may have that can match the name of a bucket. */
const BUCKETS = /^[a-z0-9.*-]+$/u;

/**
 * Parses a credentials file:
 *
 * ```toml
 * metrics-token = "…"
 *
 * [keys.AKIAEXAMPLE]
 * secret = "…"
 * buckets = ["photos", "team-*"]       # default: all
 * prefixes = ["2026/"]                 # default: all keys
 * rights = ["read", "write", "list"]   # default: all
 * enabled = false                      # default: true
 * ```
 *
 * Most clients begin with a HEAD of the bucket, for which a key needs `list`.
 *
 * @throws CredentialsError
 */
export function parseCredentials(text: string): Credentials {
  const { keys, "metrics-token": token, ...others } = parseTable(text);
  refuseOthers(others, "the file");
  if (!isTable(keys) || Object.keys(keys).length === 0) {
    throw new CredentialsError("there is no key: add a table [keys.NAME] with a secret");
  }
  const all = Object.entries(keys).map(([id, table]) => accessKey(id, table));
  refuseSameSecrets(all.map(({ key }) => key));
  const enabled = all.filter(({ isEnabled }) => isEnabled);
  return {
    keys: new Map(enabled.map(({ key }) => [key.id, key])),
    metricsToken:
      token === undefined ? undefined : secretOf(token, "metrics-token", "the metrics token"),
  };
}

function parseTable(text: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    // Its message quotes the lines around the fault, which may be secrets.
    throw new CredentialsError(`line ${error.line}, column ${error.column}: this is not TOML`);
  }
}

/** One was copied from the other, and whoever has it could act as both. */
function refuseSameSecrets(keys: readonly AccessKey[]): void {
  const ids = new Map<string, string>();
  for (const { id, secret } of keys) {
    const other = ids.get(secret);
    if (other !== undefined) {
      throw new CredentialsError(`keys.${other} and keys.${id} have the same secret`);
    }
    ids.set(secret, id);
  }
}

function accessKey(
  id: string,
  table: unknown,
): { readonly key: AccessKey; readonly isEnabled: boolean } {
  // A mistyped file may have the secret here, so it is not repeated.
  if (!ID.test(id)) {
    throw new CredentialsError(
      "the name of a key must have 3 to 128 letters, digits, or any of . _ / + = -",
    );
  }
  if (!isTable(table)) throw new CredentialsError(`keys.${id} must be a table`);
  const { secret, buckets, prefixes, rights, enabled = true, ...others } = table;
  refuseOthers(others, `keys.${id}`);
  if (typeof enabled !== "boolean") {
    throw new CredentialsError(`enabled of keys.${id} must be true or false`);
  }
  const key: AccessKey = {
    id,
    secret: secretOf(secret, "secret", `keys.${id}`),
    buckets: (textsOf(buckets, `buckets of keys.${id}`) ?? ["*"]).map((text) => {
      if (BUCKETS.test(text)) return text;
      throw new CredentialsError(
        `buckets of keys.${id} must be names: small letters, digits, dots and dashes, and * for any`,
      );
    }),
    prefixes: textsOf(prefixes, `prefixes of keys.${id}`) ?? [],
    rights: (textsOf(rights, `rights of keys.${id}`) ?? RIGHTS).map((text, index, all) => {
      const right = RIGHTS.find((known) => known === text);
      if (right !== undefined && all.indexOf(text) === index) return right;
      throw new CredentialsError(
        `rights of keys.${id} must be of read, write and list, each at most once`,
      );
    }),
  };
  return { key, isEnabled: enabled };
}

function secretOf(value: unknown, name: string, where: string): string {
  if (typeof value === "string" && value.length >= SECRET_MIN) return value;
  throw new CredentialsError(
    `${name} of ${where} must be a string of at least ${SECRET_MIN} characters`,
  );
}

function textsOf(value: unknown, name: string): readonly string[] | undefined {
  if (value === undefined) return undefined;
  // An empty list would be taken for "none" by some and for "all" by others.
  if (Array.isArray(value) && value.length > 0) {
    const texts = value.filter((item) => typeof item === "string" && item !== "");
    if (texts.length === value.length) return texts;
  }
  throw new CredentialsError(`${name} must be a list of strings, and not empty`);
}

function refuseOthers(others: object, where: string): void {
  const [name] = Object.keys(others);
  if (name === undefined) return;
  throw new CredentialsError(
    `${where} has a setting that does not exist: the settings are metrics-token and keys, and of a ` +
      "key: secret, buckets, prefixes, rights, enabled",
  );
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import { describe, test } from "bun:test";

const SERVERS = {
  minio: { title: "MinIO", variable: "IDK_TEST_MINIO" },
  versitygw: { title: "versitygw", variable: "IDK_TEST_VERSITYGW" },
  toxiproxy: { title: "toxiproxy", variable: "IDK_TEST_TOXIPROXY" },
  postgres: { title: "PostgreSQL", variable: "IDK_TEST_POSTGRES" },
} as const;

export type ServerName = keyof typeof SERVERS;

/** The URL of a server that `script/test` started, or undefined if it is not running. */
export function serverUrl(name: ServerName): URL | undefined {
  const text = process.env[SERVERS[name].variable];
  return text === undefined || text === "" ? undefined : new URL(text);
}

/**
 * `describe` for tests that need servers. If one is missing, a single skipped test names it; in CI,
 * where no one reads the names of skipped tests, this throws.
 */
export function requireServer(...names: ServerName[]): (title: string, tests: () => void) => void {
  return skipIfMissing(
    names.filter((name) => serverUrl(name) === undefined).map((name) => SERVERS[name].title),
  );
}

/** The same for anything else that tests need, given the names of what is missing. */
export function skipIfMissing(
  missing: readonly string[],
): (title: string, tests: () => void) => void {
  if (missing.length === 0) return describe;
  const words = `no ${missing.join(", no ")}`;
  if (process.env["CI"]) throw new Error(`These tests must run in CI, but there is ${words}`);
  return (title) => describe(title, () => test.skip(`skipped: ${words}`, () => {}));
}

import { expect, test } from "bun:test";
import { join } from "node:path";
import { requireServer } from "../../../../tests/servers/require-server.ts";

/** Those that depend on the catalog. */
const FILES = [
  "crash.test.ts",
  "maintenance/check.test.ts",
  "maintenance/check-shards.test.ts",
  "maintenance/lineage.test.ts",
  "maintenance/sweep.test.ts",
  "rebuild/rebuild.test.ts",
  "rebuild/rules.test.ts",
  "write/buckets.test.ts",
  "write/delete.test.ts",
  "write/onto-itself.test.ts",
  "write/parts-and-copies.test.ts",
  "write/put-object.test.ts",
  "write/renewal.test.ts",
] as const;

requireServer("postgres")("with a catalog in PostgreSQL", () => {
  test.each(FILES)(
    "%s passes",
    async (file) => {
      const child = Bun.spawn(
        [process.execPath, "test", "--timeout", "120000", join(import.meta.dir, file)],
        {
          env: { ...process.env, IDK_GATEWAY_CATALOGS: "postgres", IDK_GATEWAY_CRASHES: "5" },
          stdout: "ignore",
          stderr: "pipe",
        },
      );
      const output = await new Response(child.stderr).text();
      if ((await child.exited) !== 0) expect(output).toBe("");
    },
    600_000,
  );
});
